/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_left.c - whether a pool has free slots left, at a glance.
 */
#include "pool/pool_left.h"

bool cpi_pool_may_have_more(const struct cpi_pool *pool)
{
    uint64_t bounds = cpi_slab_bounds(&pool->slab);

    if (pool->fallback != NULL && cpi_fallback_has_room(pool->fallback))
        return true;
    if (pool->fakes)
        return false;
    return CPI_BOUNDS_FRESH(bounds) < CPI_BOUNDS_CAPACITY(bounds) ||
           (pool->grows && CPI_BOUNDS_CAPACITY(bounds) < pool->slab.most);
}

bool cpi_pool_has_left_slots(const struct cpi_pool *pool, const struct cpi_cache *cache)
{
    if (pool->fakes) /* its slots are for leases alone */
        return false;
    return (cache != NULL && cpi_cache_rounds(cache) > 0) ||
           cpi_quarantine_count(&pool->quarantine) > 0 || cpi_depot_has_stocked(&pool->depot) ||
           cpi_depot_partial_rounds(&pool->depot) > 0;
}

bool cpi_pool_has_left_any(const struct cpi_pool *pool, const struct cpi_cache *cache)
{
    return cpi_pool_has_left_slots(pool, cache) || cpi_pool_may_have_more(pool);
}

bool cpi_pool_has_any(const struct cpi_pool *pool)
{
    size_t i;

    for (i = 0; i < cpi_registry_made(&pool->registry); i++)
        if (cpi_cache_estimate(cpi_registry_cache(&pool->registry, i)) > 0)
            return true;
    return cpi_pool_has_left_any(pool, NULL);
}
