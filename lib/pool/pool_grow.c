/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_grow.c - more slots where the depot has none: growing by itself, and the end of a drain.
 *
 * ORDERING TABLE
 *   count  | growths fetch-and-add | relaxed | - | -
 */
#include "pool/pool_alloc.h"
#include "pool/drain.h"

#include "base/atomic.h"
#include "base/tools.h"
#include "host/os.h"

/* A pool that grows by itself grows by half, but not by more slots than this. */
#define CPI_GROWTH_MAX ((uintptr_t)1024 * 1024)

bool cpi_pool_raise(struct cpi_pool *pool, uint64_t bounds, uintptr_t more)
{
    if (!cpi_slab_set_bounds(&pool->slab, bounds, bounds + CPI_BOUNDS(more, 0)))
        return false;
    cpi_fetch_add(&pool->maintenance.growths, 1u, relaxed); /* [count] */
    CPI_PROBE2(growth, pool->handle, CPI_BOUNDS_CAPACITY(bounds) + more);
    return true;
}

bool cpi_pool_grow_by_itself(struct cpi_pool *pool)
{
    uint64_t bounds = cpi_slab_bounds(&pool->slab);
    uintptr_t capacity = CPI_BOUNDS_CAPACITY(bounds);
    uintptr_t more = capacity / 2;

    if (!pool->grows || capacity == pool->slab.slots || CPI_BOUNDS_FRESH(bounds) < capacity)
        return false;
    if (more < pool->depot.limit)
        more = pool->depot.limit;
    if (more > CPI_GROWTH_MAX)
        more = CPI_GROWTH_MAX;
    if (more > pool->slab.slots - capacity)
        more = pool->slab.slots - capacity;
    CPI_ASSERT(more > 0);
    /* If another thread was faster there is more now all the same. */
    cpi_pool_raise(pool, bounds, more);
    return true;
}

static bool depot_is_empty(const struct cpi_depot *depot)
{
    return !cpi_depot_has_stocked(depot) && cpi_depot_partial_rounds(depot) == 0;
}

bool cpi_pool_await_drain(struct cpi_pool *pool, uint32_t seen)
{
    const struct cpi_depot *depot = &pool->depot;
    uint32_t now = cpi_depot_drains(depot);
    unsigned times = 0;

    if (!cpi_depot_was_drained(depot, seen))
        return false;
    while (now % 2 != 0 && depot_is_empty(depot) && cpi_depot_drains(depot) == now)
        cpi_os_back_off(times++);
    return true;
}
