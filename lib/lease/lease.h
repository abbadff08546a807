/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease.h - what the caches of a lease have handed out, magazine by magazine.
 *
 * Includes atomic.h, cache.h, registry.h (lease.c: also mark.h).
 *
 *   a thread's cache of the lease                       depot at the end
 *   loaded  [ f f f h h h ]   count 3, filled 6         one splice
 *   rest    [ h h ]                                     merged
 *   chain   [ h h h h h h ] -> [ h h h h h h ]          one splice, whole
 *
 * An alloc leaves the address of the slot where it was: only the count goes down.  So
 * the part of a loaded magazine above the count lists what was handed out (h), below the
 * free slots (f), and an emptied magazine is a full one that the lease has yet to give
 * back.  The record of a cache is this part, the chain of full magazines, and `rest`.  The
 * end of the lease pushes each chain on the depot's stocked stack with one
 * compare-and-swap, however long it is.
 *
 * Invariants
 *   No slot is ever freed into a cache of a lease.  The rounds of the loaded magazine
 *   from the count to `filled` are handed out.  `filled` counts while one is loaded.
 *   The magazines of the chain are full of slots handed out.  `rest` has at least one,
 *   and is not full.  So a cache of a lease has two magazines that are not full at most,
 *   and with two in its hands it stays within what was committed for it (depot.h).
 *   It has no spares.
 *
 * The owner of a cache is inside (mark.h) whenever it changes any of this out of line.
 * In exact pools a stealing thread takes the free rounds alone.
 *
 * Each lease has a common cache for the threads that have none of their own, which also
 * gets the records of threads that end.  It never has a magazine loaded, and is used with
 * the lock held.
 *
 * ORDERING TABLE
 *   pending | pending load, store of true | relaxed | - | -
 *   marked  | pending store | release | lease.c's look | the slot's word and bit
 */
#ifndef CPI_LEASE_H
#define CPI_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cpool/lease.h>

#include "base/atomic.h"
#include "cache/cache.h"
#include "cache/registry.h"
#include "pool/way.h"

/* The record of a cache of a lease, beside the loaded magazine: the data of its owner. */
struct cpi_leased {
    struct cpi_lease *lease; /* NULL: it serves none */
    struct cpi_cache *next;  /* of another thread in the same lease, guarded by the lock */
    uint32_t filled;         /* rounds that the loaded magazine came with */
    _Atomic uint32_t rest;   /* a magazine that is not full, or 0 */
    _Atomic uint32_t top;    /* of the chain of full ones, 0: there is none */
    uint32_t bottom;         /* of the chain */
    uint32_t length;         /* of the chain */
    _Atomic bool pending;    /* the owner has left with a slot that it has yet to mark */
};

/* Guarded by the lock, but the first three, which are constant while it is open. */
struct cpi_lease {
    cpool_t *handle; /* NULL: not open */
    struct cpi_registry *registry;
    struct cpi_leased *leased; /* the pool's, one for each structure of a cache */
    struct cpi_cache *common;
    struct cpi_cache *caches; /* those of its threads */
};

/* The leases of a pool, in memory of their own from the first one on. */
struct cpi_leases {
    size_t size; /* bytes of all this, and of what `caches` points to */
    struct cpi_leased *caches; /* one for each structure of a cache */
    struct cpi_lease lease[CPOOL_LEASES_MAX];
    const struct cpi_gate *passed; /* the pool's own gate, or NULL */
    struct cpi_gate gate;          /* replaces it */
    _Atomic uint64_t leased[];     /* in pools with a gate a bit for each slot */
};

/* The part of each pool. */
struct cpi_lease_part {
    struct cpi_leases *_Atomic leases; /* NULL until there is one.  Set with the lock held */
};

static inline struct cpi_lease_part *cpi_lease_part(void *const *parts)
{
    return parts[CPI_PART_LEASE];
}

extern const struct cpi_feature cpi_lease_feature;

/* Opens a lease with this handle.  Returns false if there is no cache left.  With the lock
 * held. */
bool cpi_lease_open(struct cpi_lease *lease, struct cpi_registry *registry,
                    struct cpi_leased *leased, cpool_t *handle);

/* Forgets a lease after its caches have ended.  With the lock held. */
static inline void cpi_lease_forget(struct cpi_lease *lease)
{
    cpi_handle_give(lease->handle, CPI_HANDLE_LEASE);
    lease->handle = NULL;
}

/* Whether the handle leads to the lease, which has not ended.  With the lock held. */
static inline bool cpi_lease_is_open(const struct cpi_lease *lease, const cpool_t *handle)
{
    return cpi_handle_lease(handle) == (uintptr_t)lease;
}

/* A cache for the calling thread in the lease of this handle, or NULL if it can have none,
 * or the lease has ended.  Takes the lock. */
struct cpi_cache *cpi_lease_join(struct cpi_lease *lease, const cpool_t *handle);

/* Whether the calling thread's cache, which its entry of a lease leads to, is of this lease. */
static inline bool cpi_lease_has(const struct cpi_lease *lease, const struct cpi_cache *cache)
{
    return ((const struct cpi_leased *)cache->data)->lease == lease;
}

/* A slot, or NULL if there is none in the depot and no fresh one.  undo forgets the slot that
 * alloc has just returned, because it is another caller's.  The owner, inside. */
void *cpi_lease_alloc(struct cpi_cache *cache);
void cpi_lease_undo(struct cpi_cache *cache, const void *slot);

/* An end in another thread is refused from before the owner leaves with a slot until the slot is
 * marked, and longer if it is marked for a handler within another alloc: what begin_mark returns
 * is for end_mark.  The owner, from inside on, as an end acquires what it releases there. */
static inline bool cpi_lease_begin_mark(const struct cpi_cache *cache)
{
    struct cpi_leased *leased = cache->data;
    bool was = cpi_load(&leased->pending, relaxed); /* [pending] */

    cpi_store(&leased->pending, true, relaxed); /* [pending] */
    return was;
}

static inline void cpi_lease_end_mark(const struct cpi_cache *cache, bool was)
{
    cpi_store(&((struct cpi_leased *)cache->data)->pending, was, release); /* [marked] */
}

/* Records a live slot.  Returns false where there is no empty magazine.  The owner, inside. */
bool cpi_lease_record(struct cpi_cache *cache, void *slot);

/* The same in the common cache.  With the lock held. */
bool cpi_lease_record_commonly(struct cpi_lease *lease, void *slot);

/*
 * Ends the caches of all threads and leaves their records to the common cache.  The handle
 * leads to the lease no longer.  Returns a place that the caller has to leave, and which is not
 * the last one, or NULL after nothing has happened: the lease has ended before, or a thread is
 * inside one of the caches.  With the lock held, which is released for a while where a stealing
 * thread has a cache.
 */
struct cpi_uncached *cpi_lease_close(struct cpi_lease *lease, cpool_t *handle);

/* Of a lease that is closed: takes a magazine with a record out of the common cache, or returns
 * 0, and gives it to the depot, however full. */
uint32_t cpi_lease_take_magazine(struct cpi_cache *common);
void cpi_lease_give_magazine(struct cpi_cache *common, uint32_t node);

/* Gives all that the common cache has to the depot, and returns how many slots that are. */
size_t cpi_lease_give_all(struct cpi_cache *common);

#endif /* CPI_LEASE_H */
