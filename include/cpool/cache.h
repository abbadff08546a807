/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/cache.h - explicit caches, flush and reset.
 *
 * Included by <cpool.h>.  Never include it yourself.
 */
#ifndef CPOOL_CACHE_H
#define CPOOL_CACHE_H

#ifndef CPOOL_H
#error "include <cpool.h> instead of <cpool/cache.h>"
#endif

/*
 * ---- Explicit caches, flush and reset (cpool_cache.3) ----------------------
 */

/*
 * cpool_cache_create - makes a cache that belongs to no particular thread.
 *
 * For fibers and tasks that migrate between threads.  Only one thread may use it at a time, and
 * handing it over must synchronise (as handing over the fiber does anyway).
 *
 * cache   receives the cache, set to NULL on failure
 *
 * Returns 0, CPOOL_ENULL, CPOOL_EPOOL, which is reported, CPOOL_ELIMIT if all thread_caches are
 * taken, or CPOOL_ENOMEM.  The cache counts as one of the pool's thread_caches until it is
 * destroyed.  In the child of a fork it is empty, and stays valid.  It may block and make system
 * calls.
 */
CPOOL_API int cpool_cache_create(cpool_cache_t **cache, cpool_t *pool) CPOOL_MUST_USE_;

/*
 * cpool_cache_destroy - returns a cache's slots to the depot, and ends the cache.
 *
 * cache   from cpool_cache_create.  NULL is a no-op
 *
 * Destroy a pool's caches before the pool.  cpool_destroy unmaps them, so any function that is
 * given one of them after that traps, this one included.  cpool_reset ends them, too, but keeps
 * their memory: the same calls are then refused, and reported as CPOOL_EPOOL, until another cache
 * has the place.  In caller-provided memory they are also refused after cpool_destroy, until the
 * program uses that memory again.
 *
 * May block.
 */
CPOOL_API void cpool_cache_destroy(cpool_cache_t *cache);

/*
 * cpool_cache_alloc, cpool_cache_free - like cpool_alloc and cpool_free, through an explicit cache.
 *
 * A slot may be freed through another cache than it was taken from, or through none.  For the owner
 * only, progress as cpool_alloc and cpool_free.
 */
CPOOL_API CPOOL_INLINE_ void *cpool_cache_alloc(cpool_cache_t *cache) CPOOL_MUST_USE_
    CPOOL_NONNULL_(1);
CPOOL_API CPOOL_INLINE_ void cpool_cache_free(cpool_cache_t *cache, void *slot)
    CPOOL_NONNULL_(1);

/*
 * cpool_cache_flush - gives all slots in a cache to the depot.
 *
 * For fibers and tasks that are about to sleep for long.  The cache stays usable.  For the owner
 * only, progress as cpool_flush.
 */
CPOOL_API void cpool_cache_flush(cpool_cache_t *cache) CPOOL_NONNULL_(1);

/*
 * cpool_flush - gives all slots in the calling thread's cache to the depot.
 *
 * For threads that are about to sleep for long.  The cache stays usable.  Lock-free, and makes no
 * system call.  While threads wait for slots it may block to serve them.
 */
CPOOL_API void cpool_flush(cpool_t *pool);

/*
 * cpool_reset - takes back every slot at once, live ones included.
 *
 * The caller guarantees that no thread uses the pool meanwhile, and that none touches an old slot
 * afterwards.  Then the pool is like new: slots are handed out in order of address again.  Their
 * bytes are as they were left, and the capacity is what it has grown or shrunk to.  All caches end,
 * including those of cpool_cache_create.  Event loops that wait for a notice get it.
 *
 * Returns the number of slots that were live.  Reports CPOOL_EDOUBLEFREE like cpool_destroy, and
 * CPOOL_EGUARD in checked pools.  It may block.  Its cost depends on the number of caches and of
 * magazines in the depot, not on the number of slots (checked pools verify every guard).
 */
CPOOL_API size_t cpool_reset(cpool_t *pool);

#endif /* CPOOL_CACHE_H */
