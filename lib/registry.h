/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.h - which caches a pool has, and what becomes of them when their
 * thread ends, when the process forks, when the pool is reset or destroyed.
 *
 * Floor 5.  Includes roster.h, thread.h; registry.c also recall.h.
 *
 *   all registries --> registry of pool A --> [ cache | cache | cache | unused ...
 *                                             ^                ^
 *                         thread 1: caches ---+    thread 2: --+
 *
 * Everything is guarded by the one lock of thread.h.
 */
#ifndef CPI_REGISTRY_H
#define CPI_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roster.h"
#include "thread.h"

/* Its address identifies this copy of the library. */
extern const char cpi_registry_copy;

/* Makes ready what the registry needs of threads and fork, once per process. */
bool cpi_registry_startup(void);

/*
 * Fills in what is constant, gives the pool an entry in the threads' tables if
 * one is left, and adds the registry to the list of all.  Takes the lock.
 */
void cpi_registry_open(struct cpi_registry *registry, const struct cpi_extent *caches,
                       cpool_t *pool, struct cpi_slab *slab, struct cpi_depot *depot,
                       const struct cpi_registry_limits *limits);

/* Waits for threads that have ended and are giving caches of this pool back.  With
 * the lock held, but not all the time. */
void cpi_registry_await_leaving(struct cpi_registry *registry);

/* The reverse, with the lock held.  The caches must have been ended. */
void cpi_registry_close(struct cpi_registry *registry);

/* Ends all caches, and forgets what they hold.  With the lock held; no thread
 * may be using the pool. */
void cpi_registry_end_caches(struct cpi_registry *registry);

/* The calling thread's cache, made if need be; NULL if it can have none.  Takes
 * the lock if it has to be made. */
struct cpi_cache *cpi_registry_own_cache(struct cpi_registry *registry);

/* The calling thread's cache, or NULL if it has none yet.  Wait-free.  The entry
 * is that of another pool if the registry is another copy's of the library. */
static inline struct cpi_cache *cpi_registry_known_cache(const struct cpi_registry *registry)
{
    const cpool_cache_t *entry = cpi_thread_entry(registry->table_offset);

    return CPI_LIKELY(entry->pool == registry->pool) ? (struct cpi_cache *)entry->home : NULL;
}

/* A cache that no thread owns; NULL if there is none left.  Takes the lock. */
struct cpi_cache *cpi_registry_add_cache(struct cpi_registry *registry);

/* Gives what a cache holds to the depot, and its structure back.  Takes the
 * lock. */
void cpi_registry_remove_cache(struct cpi_registry *registry, struct cpi_cache *cache);

/*
 * The bucket of an address, of a power of two of them.  Pools lie at multiples of a
 * page, or of a huge one, so both halves of the address have to count; the
 * multiplier is the golden section's.
 */
static inline size_t cpi_registry_bucket(const void *where, size_t buckets)
{
    uint64_t address = (uintptr_t)where;

    address = (address ^ address >> 21) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(address >> 32) & (buckets - 1);
}

/* Whether a living pool lies at this address.  With the lock held. */
bool cpi_registry_knows(const cpool_t *pool);

#endif /* CPI_REGISTRY_H */
