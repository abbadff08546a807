/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_left.c - whether a waitable pool has free slots left, at a glance.
 */
#include "wait/pool_left.h"

#include "pool/pool_alloc.h"

unsigned cpi_pool_left(const struct cpi_pool *pool, const struct cpi_cache *cache)
{
    uint64_t bounds = cpi_slab_bounds(&pool->slab);
    bool more = CPI_BOUNDS_FRESH(bounds) < CPI_BOUNDS_CAPACITY(bounds) ||
                (pool->grows && CPI_BOUNDS_CAPACITY(bounds) < pool->slab.most);
    bool slots = (cache != NULL && cpi_cache_rounds(cache) > 0) || cpi_pool_kept(pool) > 0 ||
                 cpi_depot_has_stocked(&pool->depot) || cpi_depot_partial_rounds(&pool->depot) > 0;

    return (slots ? CPI_LEFT_SLOTS : 0) | (more ? CPI_LEFT_MORE : 0);
}

bool cpi_pool_has_any(const struct cpi_pool *pool)
{
    size_t i;

    for (i = 0; i < cpi_registry_made(&pool->registry); i++)
        if (cpi_cache_estimate(cpi_registry_cache(&pool->registry, i)) > 0)
            return true;
    return pool->way->left(pool, NULL) != 0;
}
