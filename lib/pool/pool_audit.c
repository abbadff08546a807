/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_audit.c - whether every magazine is in one place, as an assertion when a pool is
 * destroyed.
 *
 * ORDERING TABLE
 *   walk | partial, spare load | relaxed | - | -
 *
 * A magazine that has been met is marked by a bit of its count, which no count of rounds
 * reaches.  Magazines in no place are those that a fork has left behind.
 */
#include "pool/pool_impl.h"

#ifdef CPI_DEBUG

#include "base/atomic.h"

#define CPI_MET (1u << 31)

/* Marks a magazine.  Returns false if it was met before, or has not so many rounds. */
static bool meet(const struct cpi_depot *depot, uint32_t node, uint32_t least, uint32_t most)
{
    struct cpi_magazine *magazine = cpi_depot_magazine(depot, node);
    uint32_t count = cpi_magazine_count(magazine);

    cpi_magazine_set_count(magazine, count | CPI_MET);
    return count >= least && count <= most; /* one that was met has more */
}

static bool walk(const struct cpi_depot *depot, const struct cpi_tagstack *stack, uint32_t rounds)
{
    uint32_t node;

    for (node = cpi_tagstack_top(stack); node != 0; node = cpi_tagstack_below(&depot->links, node))
        if (!meet(depot, node, rounds, rounds))
            return false;
    return true;
}

static bool visit(const struct cpi_depot *depot, const struct cpi_cache *cache)
{
    uint32_t loaded = cpi_cache_loaded(cache);
    uint32_t i;

    if (loaded != 0 && !meet(depot, loaded, 0, 0)) /* its count is the entry's */
        return false;
    for (i = 0; i < cache->quota_max; i++) {
        uint32_t node = cpi_load(&cache->spare[i], relaxed); /* [walk] */

        if (node != 0 && !meet(depot, node, 0, depot->limit))
            return false;
    }
    return true;
}

bool cpi_pool_audit(const struct cpi_pool *pool)
{
    const struct cpi_depot *depot = &pool->depot;
    uint32_t partial = cpi_load(&depot->partial, relaxed); /* [walk] */
    size_t i;

    if (!walk(depot, &depot->stocked, depot->limit) || !walk(depot, &depot->empty, 0) ||
        (partial != 0 && !meet(depot, partial, 1, depot->limit - 1)))
        return false;
    for (i = 0; i < cpi_registry_made(&pool->registry); i++)
        if (!visit(depot, cpi_registry_cache(&pool->registry, i)))
            return false;
    return true;
}

#endif
