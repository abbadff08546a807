/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_info.c - questions about addresses, and figures.
 *
 * Floor 6.
 *
 * ORDERING TABLE
 *   figure | committed and counter loads | relaxed | - | -
 */
#include "pool_impl.h"

#include <string.h>

#include "atomic.h"
#include "os.h"
#include "recall.h"
#include "structs.h"

bool cpool_owns(const cpool_t *handle, const void *p)
{
    const struct cpi_pool *pool = cpi_pool_of(handle, "cpool_owns");

    return pool != NULL && cpi_pool_index(pool, p) < pool->slab.slots;
}

size_t cpool_index(const cpool_t *handle, const void *slot)
{
    const struct cpi_pool *pool = cpi_pool_of(handle, "cpool_index");
    uintptr_t index;

    if (pool == NULL)
        return SIZE_MAX;
    index = cpi_pool_index(pool, slot);
    return index < pool->slab.slots ? (size_t)index : SIZE_MAX;
}

void *cpool_at(const cpool_t *handle, size_t index)
{
    const struct cpi_pool *pool = cpi_pool_of(handle, "cpool_at");

    if (pool == NULL || index >= pool->slab.slots)
        return NULL;
    return cpi_pool_shown(pool, index);
}

size_t cpool_index_limit(const cpool_t *handle)
{
    const struct cpi_pool *pool = cpi_pool_of(handle, "cpool_index_limit");

    return pool != NULL ? pool->slab.slots : 0;
}

static size_t stocked_rounds(const struct cpi_pool *pool,
                             const struct cpi_registry_figures *figures)
{
    /* While others work the account may lag behind and go below zero. */
    return figures->stocked > 0 ? (size_t)figures->stocked * pool->depot.limit : 0;
}

int64_t cpi_pool_live(const struct cpi_pool *pool, const struct cpi_registry_figures *figures)
{
    size_t out = cpi_slab_fresh(&pool->slab);
    size_t idle = stocked_rounds(pool, figures) + cpi_depot_partial_rounds(&pool->depot) +
                  cpi_quarantine_count(&pool->quarantine) + figures->rounds;

    return (int64_t)out - (int64_t)idle;
}

size_t cpi_pool_count_live(const struct cpi_pool *pool)
{
    struct cpi_registry_figures figures;
    int64_t live;

    cpi_registry_figures(&pool->registry, &figures);
    live = cpi_pool_live(pool, &figures);
    return live > 0 ? (size_t)live : 0;
}

static int64_t stocked_by(const struct cpi_counters *counters)
{
    uint64_t in = cpi_load(&counters->stocked_in, relaxed);   /* [figure] */
    uint64_t out = cpi_load(&counters->stocked_out, relaxed); /* [figure] */

    return (int64_t)(in - out);
}

/* As cpi_pool_live, without the lock: caches may come and go meanwhile. */
static uint64_t estimate_live(const struct cpi_pool *pool)
{
    const struct cpi_registry *registry = &pool->registry;
    struct cpi_registry_figures figures = {.stocked = registry->stocked_correction};
    int64_t live;
    size_t i;

    for (i = 0; i < cpi_registry_uncached_used(registry); i++)
        figures.stocked += stocked_by(&registry->uncached[i].counters);
    for (i = 0; i < cpi_registry_made(registry); i++) {
        const struct cpi_cache *cache = cpi_registry_cache(registry, i);

        figures.stocked += stocked_by(&cache->counters);
        figures.rounds += cpi_cache_estimate(cache);
    }
    live = cpi_pool_live(pool, &figures);
    return live > 0 ? (uint64_t)live : 0;
}

/* A mark, because other threads' caches are looked at. */
CPI_COLD void cpi_pool_sample_by_clock(struct cpi_pool *pool, struct cpi_cache *cache)
{
    uint64_t now = cpi_os_now();

    cache->looks = 0;
    if (!cpi_usage_is_due(&pool->usage, now) || !cpi_recall_enter(cache))
        return;
    cpi_usage_note(&pool->usage, estimate_live(pool), now);
    cpi_recall_leave(cache);
}

static size_t committed(const struct cpi_extent *extent)
{
    return cpi_load(&extent->committed, relaxed); /* [figure] */
}

static size_t committed_bytes(const struct cpi_pool *pool)
{
    size_t bytes = pool->fixed_bytes + committed(&pool->registry.caches) +
                   committed(&pool->depot.for_slots) + committed(&pool->depot.for_caches) +
                   committed(&pool->slab.extent);
    unsigned i;

    for (i = 0; i < CPI_SIDES; i++)
        bytes += pool->slab.sides[i].size != 0 ? committed(&pool->slab.sides[i].extent) : 0;
    return pool->region_owned ? bytes : pool->region_size;
}

/* All but the usage.  With the lock held. */
static void read_counts(struct cpi_pool *pool, cpool_stats_t *stats)
{
    struct cpi_registry_figures figures;
    int64_t live;

    cpi_registry_figures(&pool->registry, &figures);
    stats->high_water = cpi_slab_fresh(&pool->slab);
    live = cpi_pool_live(pool, &figures);
    stats->live = live > 0 ? (size_t)live : 0;
    stats->in_depot = stocked_rounds(pool, &figures) + cpi_depot_partial_rounds(&pool->depot) +
                      cpi_quarantine_count(&pool->quarantine);
    stats->capacity = cpi_slab_capacity(&pool->slab);
    stats->max_capacity = pool->slab.most;
    stats->in_caches = figures.rounds;
    stats->fresh = stats->capacity > stats->high_water ? stats->capacity - stats->high_water : 0;
    stats->slack = stats->capacity < stats->high_water ? stats->high_water - stats->capacity : 0;
    stats->slot_size = cpi_pool_slot_size(pool);
    stats->slot_stride = pool->fake == NULL ? pool->slab.stride : pool->fake->size;
    stats->magazine_rounds = pool->depot.limit;
    stats->magazines = cpi_depot_made(&pool->depot);
    stats->thread_caches = figures.caches;
    stats->exchanges = figures.exchanges;
    stats->cas_retries = figures.retries;
    stats->recalls = figures.recalls;
    stats->growths = cpi_load(&pool->maintenance.growths, relaxed); /* [figure] */
    stats->trims = cpi_load(&pool->maintenance.trims, relaxed);     /* [figure] */
    stats->waits = cpi_load(&pool->waiters.waits, relaxed);    /* [figure] */
    stats->spares = figures.spares;
    stats->stalls = cpi_load(&pool->stalls, relaxed); /* [figure] */
    stats->reserved_bytes = pool->region_size;
    stats->committed_bytes = committed_bytes(pool);
}

static void read_figures(struct cpi_pool *pool, cpool_stats_t *stats)
{
    uint64_t peak;
    uint64_t average;

    cpi_lock();
    read_counts(pool, stats);
    cpi_unlock();
    cpi_usage_read(&pool->usage, stats->live, cpi_os_now(), &peak, &average);
    stats->live_peak = (size_t)peak;
    stats->live_average = (size_t)average;
}

bool cpi_pool_try_figures(struct cpi_pool *pool, cpool_stats_t *stats)
{
    uint64_t peak;
    uint64_t average;

    read_counts(pool, stats);
    if (!cpi_usage_try_read(&pool->usage, stats->live, cpi_os_now(), &peak, &average))
        return false;
    stats->live_peak = (size_t)peak;
    stats->live_average = (size_t)average;
    return true;
}

int cpool_stats(const cpool_t *handle, cpool_stats_t *stats)
{
    struct cpi_pool *pool;
    cpool_stats_t known;

    if (handle == NULL || stats == NULL)
        return CPOOL_ENULL;
    if (cpi_struct_check(stats) != 0)
        return CPOOL_ESTRUCT;
    pool = cpi_pool_of(handle, "cpool_stats");
    if (pool == NULL)
        return CPOOL_EPOOL;
    read_figures(pool, &known);
    cpi_struct_write(stats, &known, sizeof known);
    return 0;
}

void cpool_stats_restart(cpool_t *handle)
{
    struct cpi_pool *pool = cpi_pool_of(handle, "cpool_stats_restart");
    cpool_stats_t stats;

    if (pool == NULL)
        return;
    read_figures(pool, &stats);
    cpi_usage_restart(&pool->usage, stats.live, cpi_os_now());
}
