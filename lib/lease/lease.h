/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease.h - what the caches of a lease have handed out, magazine by magazine.
 *
 * Floor 5.  Includes cache.h, registry.h, swaps.h (lease.c: also recall.h).
 *
 *   a thread's cache of the lease                       depot at the end
 *   loaded  [ f f f h h h ]   count 3, filled 6         one splice
 *   rest    [ h h ]                                     merged
 *   chain   [ h h h h h h ] -> [ h h h h h h ]          one splice, whole
 *
 * An alloc leaves the address of the slot where it stood: only the count goes down.  So
 * the part of a loaded magazine above the count lists what was handed out (h), below the
 * free slots (f), and an emptied magazine is a full one that the lease has yet to give
 * back.  It goes on the chain of its cache.  The end of the lease pushes each chain on
 * the depot's stocked stack with one compare-and-swap, however long it is.
 *
 * Invariants
 *   No slot is ever freed into a cache of a lease.  The rounds of the loaded magazine
 *   from the count to `filled` are handed out.  `filled` is 0 where none is loaded.
 *   The magazines of the chain are full of slots handed out.  `rest` has at least one,
 *   and is not full.  So a cache of a lease has two magazines that are not full at most,
 *   and with two in its hands it stays within what was committed for it (depot.h).
 *   It has no spares.
 *
 * The owner of a cache is inside (recall.h) whenever it changes any of this out of line.
 * In exact pools a stealing thread takes the free rounds alone.
 *
 * The first cache of a lease is common to the threads that can have none of their own,
 * and inherits from threads that end.  It is used with the lock held.
 */
#ifndef CPI_LEASE_H
#define CPI_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache.h"
#include "registry.h"
#include "swaps.h"

/* Guarded by the lock, but `handle` and `registry`, which are constant while it is open. */
struct cpi_lease {
    cpool_t *handle; /* NULL: not open */
    struct cpi_registry *registry;
    struct cpi_cache *common;
    struct cpi_cache *caches; /* all of its caches, `common` included */
    struct cpi_swaps swaps;   /* promoted slots with a place that was not found */
};

/* Opens a lease with this handle.  False if no cache can be had.  With the lock held. */
bool cpi_lease_open(struct cpi_lease *lease, struct cpi_registry *registry, cpool_t *handle);

/* Forgets a lease with caches that have ended.  With the lock held. */
void cpi_lease_forget(struct cpi_lease *lease);

/* Whether the handle leads to the lease, which has not ended.  With the lock held. */
static inline bool cpi_lease_is_open(const struct cpi_lease *lease, const cpool_t *handle)
{
    return cpi_handle_lease(handle) == (uintptr_t)lease;
}

/* A cache for the calling thread in the lease of this handle, or NULL if it can have none,
 * or the lease has ended.  Takes the lock. */
struct cpi_cache *cpi_lease_join(struct cpi_lease *lease, const cpool_t *handle);

/* A cache joins a lease or leaves it.  With the lock held, by the registry. */
void cpi_lease_add(struct cpi_lease *lease, struct cpi_cache *cache);
void cpi_lease_remove(struct cpi_cache *cache);

/* A slot, or NULL if there is none in the depot and no fresh one.  The owner, inside. */
void *cpi_lease_take(struct cpi_cache *cache);

/* A slot that is live becomes the lease's.  False where there is no empty magazine.  The
 * owner, inside. */
bool cpi_lease_adopt(struct cpi_cache *cache, void *slot);

/* The same through the common cache.  With the lock held. */
bool cpi_lease_adopt_commonly(struct cpi_lease *lease, void *slot);

/* The slot that was taken last was none to be had: the lease forgets it.  The owner,
 * inside. */
void cpi_lease_drop(struct cpi_cache *cache);

/* The slot is the lease's no longer, if it was handed out by the magazines that the cache
 * used last.  Returns false if it was not.  The owner, inside. */
bool cpi_lease_let_go(struct cpi_cache *cache, const void *slot);

/* Takes the free rounds away, as a magazine, or returns 0.  The owner, inside, or a
 * stealing thread that has the cache. */
uint32_t cpi_lease_detach_free(struct cpi_cache *cache, struct cpi_counters *counters);

/* The owner's thread ends: gives the free rounds back, and then, with the lock held,
 * leaves the rest to the common cache.  `vanished`: the owner vanished in a fork. */
void cpi_lease_retreat(struct cpi_cache *cache);
void cpi_lease_inherit(struct cpi_cache *cache, bool vanished);

/*
 * Collects what all caches of a lease have handed out in the common cache.  Unless they
 * stay, they have no owner any more then, and the handle leads to the lease no longer.
 * Returns false if the lease has ended.  *at_rest becomes false if an operation was found
 * at work in a cache, which is a mistake of the caller's, and was waited for.  With the lock
 * held, which may be given up for a while before anything is changed.
 */
bool cpi_lease_gather(struct cpi_lease *lease, cpool_t *handle, bool stay, bool *at_rest);

/* Visits the slots that the common cache has handed out.  `visit` may put another slot in
 * the place of one.  While nothing joins or leaves the lease. */
typedef void cpi_lease_visit(void *context, void **place);
void cpi_lease_walk(const struct cpi_cache *common, cpi_lease_visit *visit, void *context);

/* One of the slots that the common cache has handed out is the lease's no longer.  NULL if
 * there is none.  While nothing joins or leaves the lease. */
void *cpi_lease_pop(struct cpi_cache *common);

/* Gives all that the common cache has to the depot, and returns how many slots that are. */
size_t cpi_lease_give(struct cpi_cache *common);

#endif /* CPI_LEASE_H */
