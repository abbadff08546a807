/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats.c - queries about addresses and configurations, and figures.
 *
 * ORDERING TABLE
 *   figure | committed and counter loads, calls fetch-and-add | relaxed | - | -
 *   usage  | loads, CAS of the counts of live slots | relaxed | - | -
 */
#include "pool/config.h"
#include "pool/report.h"
#include "pool/slots.h"

#include "base/atomic.h"
#include "base/structs.h"

/* Programs also have these inline (cpool/fast.h). */
#undef cpool_index
#undef cpool_at

size_t cpool_index(const cpool_t *handle, const void *slot)
{
    const struct cpi_pool *pool = cpi_pool_seen(handle, "cpool_index");
    uintptr_t index;
    int code;

    if (pool == NULL)
        return SIZE_MAX;
    code = cpi_pool_place(pool, slot, &index);
    return code == CPOOL_EFOREIGN || code == CPOOL_EMISALIGNED ? SIZE_MAX : (size_t)index;
}

void *cpool_at(const cpool_t *handle, size_t index)
{
    const struct cpi_pool *pool = cpi_pool_seen(handle, "cpool_at");

    return pool != NULL && index < pool->slab.slots ? cpi_pool_slot(pool, index) : NULL;
}

/* --- Figures --- */

static void add_extent(const struct cpi_extent *extent, cpool_stats_t *stats)
{
    stats->committed_bytes += cpi_load(&extent->committed, relaxed); /* [figure] */
    stats->system_calls += cpi_load(&extent->calls, relaxed);        /* [figure] */
}

static void read_memory(const struct cpi_pool *pool, cpool_stats_t *stats)
{
    stats->reserved_bytes = pool->region_size;
    stats->committed_bytes = sizeof *pool;
    stats->system_calls = cpi_load(&pool->calls, relaxed); /* [figure] */
    add_extent(&pool->registry.caches, stats);
    add_extent(&pool->depot.for_slots, stats);
    add_extent(&pool->depot.for_caches, stats);
    add_extent(&pool->slab.extent, stats);
    for (unsigned i = 0; i < CPI_SIDES; i++)
        add_extent(&pool->slab.sides[i].extent, stats);
    if (!pool->region_owned)
        stats->committed_bytes = pool->region_size;
}

void cpi_pool_note_calls(struct cpi_pool *pool, uint64_t calls)
{
    cpi_fetch_add(&pool->calls, calls, relaxed); /* [figure] */
}

void cpi_pool_figures(struct cpi_pool *pool, struct cpi_figures *figures)
{
    const struct cpi_registry *registry = &pool->registry;
    cpool_stats_t *stats = &figures->stats;
    uint64_t sum = cpi_load(&pool->sum, relaxed);       /* [usage] */
    uint64_t counts = cpi_load(&pool->counts, relaxed); /* [usage] */
    struct cpi_registry_figures sums;

    cpi_registry_add_up(registry, &sums);
    stats->circulating = cpi_slab_fresh(&pool->slab);
    stats->live = sums.live > 0 ? (size_t)sums.live : 0;
    stats->capacity = cpi_slab_capacity(&pool->slab);
    if (pool->client != NULL && stats->capacity < stats->circulating)
        stats->capacity = stats->circulating; /* see CPOOL_CLIENT_FRESH */
    stats->max_capacity = pool->slab.slots;
    stats->slot_size = pool->slab.slot_size;
    stats->slot_stride = pool->slab.stride;
    stats->failures = cpi_load(&pool->failures, relaxed); /* [figure] */
    stats->stalls = cpi_load(&pool->stalls, relaxed);     /* [figure] */
    stats->waits = cpi_load(&pool->waiters.waits, relaxed); /* [figure] */
    stats->reclaims = cpi_load(&registry->reclaims, relaxed); /* [figure] */
    read_memory(pool, stats);
    stats->system_calls += cpi_load(&registry->barriers, relaxed); /* [figure] */
    stats->retired = 0;
    cpi_client_figures(pool, stats);
    figures->in_depot = sums.in_depot;
    figures->in_caches = sums.rounds;
    figures->fresh =
        stats->capacity > stats->circulating ? stats->capacity - stats->circulating : 0;
    stats->free = figures->in_depot + figures->in_caches + figures->fresh;
    figures->magazine_rounds = pool->depot.limit;
    figures->magazines = cpi_depot_made(&pool->depot);
    figures->caches = cpi_load(&registry->used, relaxed); /* [figure] */
    figures->spare_limit = figures->caches * CPI_QUOTA_MIN + registry->spares_out;
    figures->exchanges = sums.exchanges;
    figures->growths = cpi_load(&pool->growths, relaxed); /* [figure] */
    figures->registrations = registry->registrations;
    cpi_raise(&pool->peak, (uint64_t)stats->live, relaxed); /* [usage] */
    stats->peak = (size_t)cpi_load(&pool->peak, relaxed); /* [usage] */
    stats->average = counts > 0 ? (size_t)((sum + counts / 2) / counts) : stats->live;
}

int cpool_read_stats(const cpool_t *handle, cpool_stats_t *stats)
{
    struct cpi_pool *pool;
    struct cpi_figures known;
    bool locked;

    if (handle == NULL || stats == NULL)
        return CPOOL_ENULL;
    if (cpi_struct_check(stats) != 0)
        return CPOOL_ESTRUCT;
    pool = cpi_pool_seen(handle, "cpool_read_stats");
    if (pool == NULL)
        return CPOOL_EPOOL;
    locked = cpi_lock_unless_held();
    cpi_pool_figures(pool, &known);
    cpi_unlock_if(locked);
    cpi_struct_write(stats, &known.stats, sizeof known.stats);
    return 0;
}

/* --- Before a pool is created --- */

size_t cpool_memory_required(const cpool_config_t *config)
{
    struct cpi_layout layout;
    cpool_config_t known;
    cpool_config_t with_options;
    size_t page;
    size_t most;

    if (config == NULL || cpi_pool_read_config(&known, config, CPOOL_CLIENT_RESERVED) != 0)
        return 0;
    page = (known.flags & CPOOL_CLIENT_RESERVED) != 0 ? cpi_layout_page(&known) : 0;
    if (cpi_layout_compute(&layout, &known, page) != 0)
        return 0;
    most = layout.total;
    /* With the options if they can be had, and also without them.  Whose the pool will be is not
     * known here. */
    for (int is_clients = 0; is_clients < 2; is_clients++) {
        with_options = known;
        if (cpi_pool_add_options(&with_options, is_clients != 0, false) &&
            cpi_layout_compute(&layout, &with_options, page) == 0 && layout.total > most)
            most = layout.total;
    }
    return most;
}
