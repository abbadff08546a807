/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease.h - what the caches of a lease have handed out, magazine by magazine.
 *
 * Includes atomic.h, cache.h, registry.h (lease.c, lease_close.c: also mark.h).
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
 * A reset by the only thread that has slots of the lease raises the count to `filled`: the slots
 * of the loaded magazine are free where they are.
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
 *   marked  | pending store | release | lease_close.c's look | the slot's word and bit
 *   listed  | caches and next load with the lock held | relaxed | - | -
 *   alone   | caches and next load | acquire | lease.c's gone | the record that it left
 *   common  | top and rest load    | relaxed | - | - (after [alone])
 *
 * [alone] A thread that takes part may end beside a reset, because it allocates nothing.  Its
 * record is the common cache's before its cache is off the list.  So a thread that finds its own
 * cache alone there finds the record, too.  The user orders the reset after all allocs, and so
 * after all caches that joined.
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
    struct cpi_cache *_Atomic next; /* of another thread in the same lease, stored with the lock
                                       held */
    uint32_t filled;         /* rounds that the loaded magazine came with */
    _Atomic uint32_t rest;   /* a magazine that is not full, or 0 */
    _Atomic uint32_t top;    /* of the chain of full ones, 0: there is none */
    uint32_t bottom;         /* of the chain */
    uint32_t length;         /* of the chain */
    _Atomic bool pending;    /* the owner has left with a slot that it has yet to mark */
};

/* Guarded by the lock, but the first four, which are constant while it is open. */
struct cpi_lease {
    cpool_t *handle; /* NULL: not open */
    struct cpi_registry *registry;
    struct cpi_leased *leased; /* the pool's, one for each structure of a cache */
    struct cpi_cache *common;
    struct cpi_cache *_Atomic caches; /* those of its threads, read by a reset without the lock */
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

/* The record of a cache of a lease. */
static inline struct cpi_leased *cpi_leased_of(const struct cpi_cache *cache)
{
    return cache->data;
}

/* The caches of its threads, one after the other.  With the lock held. */
static inline struct cpi_cache *cpi_lease_first(const struct cpi_lease *lease)
{
    return cpi_load(&lease->caches, relaxed); /* [listed] */
}

static inline struct cpi_cache *cpi_lease_next(const struct cpi_cache *cache)
{
    return cpi_load(&cpi_leased_of(cache)->next, relaxed); /* [listed] */
}

/* Whether all that the lease has handed out is on record in this cache, which is the calling
 * thread's and the lease's.  Beside no alloc under the lease.  Wait-free. */
static inline bool cpi_lease_is_alone(const struct cpi_lease *lease, const struct cpi_cache *cache)
{
    const struct cpi_leased *common = cpi_leased_of(lease->common);

    return cpi_load(&lease->caches, acquire) == cache &&             /* [alone] */
           cpi_load(&cpi_leased_of(cache)->next, acquire) == NULL && /* [alone] */
           cpi_load(&common->top, relaxed) == 0 &&                   /* [common] */
           cpi_load(&common->rest, relaxed) == 0;                    /* [common] */
}

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
    return cpi_leased_of(cache)->lease == lease;
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
    struct cpi_leased *leased = cpi_leased_of(cache);
    bool was = cpi_load(&leased->pending, relaxed); /* [pending] */

    cpi_store(&leased->pending, true, relaxed); /* [pending] */
    return was;
}

static inline void cpi_lease_end_mark(const struct cpi_cache *cache, bool was)
{
    cpi_store(&cpi_leased_of(cache)->pending, was, release); /* [marked] */
}

/* Records a live slot.  Returns false where there is no empty magazine.  The owner, inside. */
bool cpi_lease_record(struct cpi_cache *cache, void *slot);

/* The same in the common cache.  With the lock held. */
bool cpi_lease_record_commonly(struct cpi_lease *lease, void *slot);

/* Gives back all that the cache has handed out, and returns how many slots that are.  Those of the
 * loaded magazine stay in the cache.  The owner, inside. */
size_t cpi_lease_reset_own(struct cpi_cache *cache);

/* Gives the free rounds back.  The loaded magazine joins the record.  The owner, inside, or the
 * holder of a place that has the cache. */
void cpi_lease_give_free(struct cpi_cache *cache, struct cpi_counters *counters);

/* The common cache gets the record of a cache that has no free rounds any more.  With the lock
 * held. */
void cpi_lease_move_record(struct cpi_cache *common, struct cpi_cache *cache);

/* Takes the cache, a thread's, off the list of its lease.  With the lock held. */
void cpi_lease_unlink(struct cpi_cache *cache);

/* lease_close.c */

/*
 * Leaves the records of all threads' caches to the common cache.  If the lease is to end, these
 * caches end, and the handle leads to it no longer.  Otherwise they stay, with nothing in them.
 * Returns a place that the caller has to leave, and which is not the last one, or NULL after
 * nothing has happened: the lease has ended before, or a thread is inside one of the caches.  With
 * the lock held, which is released for a while where a stealing thread has a cache.
 */
struct cpi_uncached *cpi_lease_collect(struct cpi_lease *lease, cpool_t *handle, bool ends);

/* After that: takes a magazine with a record out of the common cache, or returns 0, and gives it
 * to the depot, however full.  With the lock held, unless the lease has ended. */
uint32_t cpi_lease_take_magazine(struct cpi_cache *common);
void cpi_lease_give_magazine(struct cpi_cache *common, uint32_t node);

/* Gives all that the common cache has to the depot, and returns how many slots that are. */
size_t cpi_lease_give_all(struct cpi_cache *common);

#endif /* CPI_LEASE_H */
