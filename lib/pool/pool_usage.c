/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_usage.c - how many slots are live, now and over time.
 *
 * Every pool counts, and few programs ask: cpool_stats is in a file of its own, so that a static
 * program does not carry it.
 *
 * ORDERING TABLE
 *   usage | CAS, fetch-and-add of the counts of live slots | relaxed | - | -
 */
#include "pool/stats.h"

#include "base/atomic.h"

size_t cpi_pool_in_depot(const struct cpi_pool *pool, const struct cpi_registry_figures *figures)
{
    /* While others work the account may lag behind and go below zero. */
    size_t stocked = figures->stocked > 0 ? (size_t)figures->stocked : 0;

    return stocked * pool->depot.limit + cpi_depot_partial_rounds(&pool->depot);
}

int64_t cpi_pool_live(const struct cpi_pool *pool, const struct cpi_registry_figures *figures)
{
    int64_t out = (int64_t)cpi_slab_fresh(&pool->slab);

    return out - (int64_t)(cpi_pool_in_depot(pool, figures) + figures->rounds);
}

size_t cpi_pool_count_live(const struct cpi_pool *pool)
{
    struct cpi_registry_figures figures;

    cpi_registry_figures(&pool->registry, &figures);
    return cpi_none_at_least(cpi_pool_live(pool, &figures));
}

/*
 * A thread looks at all caches.  The more caches there are, the more exchanges
 * are between two counts, so that a count costs an exchange the same in any pool.
 */
CPI_COLD void cpi_pool_count_at_exchange(struct cpi_pool *pool, struct cpi_cache *cache)
{
    struct cpi_registry_figures figures;
    uint64_t live;

    cache->countdown = CPI_COUNT_EVERY * (1 + (uint32_t)cpi_registry_made(&pool->registry) / 8);
    cpi_registry_add_up(&pool->registry, &figures);
    live = cpi_none_at_least(cpi_pool_live(pool, &figures));
    cpi_raise(&pool->usage.peak, live, relaxed); /* [usage] */
    cpi_fetch_add(&pool->usage.sum, live, relaxed);        /* [usage] */
    cpi_fetch_add(&pool->usage.counts, (uint64_t)1, relaxed); /* [usage] */
}
