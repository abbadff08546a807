/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_left.h - whether a waitable pool has free slots left, at a glance.
 *
 * Includes pool_impl.h.
 *
 * These functions read and take nothing.  An answer may be outdated when the caller has it.  Each
 * one is wait-free, cpi_pool_has_any in the number of caches.
 */
#ifndef CPI_POOL_LEFT_H
#define CPI_POOL_LEFT_H

#include "pool/pool_alloc.h"

/* The answer where all slots are the slab's: bits of way.h. */
unsigned cpi_pool_left(const struct cpi_pool *pool, const struct cpi_cache *cache);

/* By the pool's way: whether the depot, the gate or this cache, which may be NULL, has
 * free slots that the earlier scan of a waiter missed. */
static inline bool cpi_pool_has_left_slots(const struct cpi_pool *pool,
                                           const struct cpi_cache *cache)
{
    return (pool->way->left(pool, cache) & CPI_LEFT_SLOTS) != 0;
}

/* Whether there is anything left, or in any cache. */
bool cpi_pool_has_any(const struct cpi_pool *pool);

#endif /* CPI_POOL_LEFT_H */
