/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sized_info.c - classes and figures of an allocator of blocks of many sizes.
 *
 * ORDERING TABLE
 *   figure | counters' loads | relaxed | - | -
 */
#include "sized/sized_impl.h"

#include "base/atomic.h"
#include "base/structs.h"

size_t cpool_sized_class_of(const cpool_sized_t *blocks, size_t size)
{
    if (CPI_HAS_ENDED(blocks))
        return 0;
    return size <= blocks->largest ? cpi_sized_first(blocks, size) : blocks->classes;
}

int cpool_sized_class(const cpool_sized_t *blocks, size_t number,
                      cpool_sized_class_t *description)
{
    cpool_sized_class_t known = CPOOL_SIZED_CLASS_INIT;
    cpool_t *pool;

    if (CPI_HAS_ENDED(blocks))
        return CPOOL_EPOOL;
    if (description == NULL)
        return CPOOL_ENULL;
    if (cpi_struct_check(description) != 0)
        return CPOOL_ESTRUCT;
    if (number >= blocks->classes)
        return CPOOL_ECLASSES;
    pool = cpi_sized_pool(blocks, number);
    known.block_size = blocks->sizes[number];
    known.pool = pool != NULL ? cpi_layer_face(pool) : NULL;
    known.source_ = (struct cpool_sized_source *)pool;
    known.dry = cpi_load(&blocks->dry[number], relaxed);   /* [figure] */
    known.lent = cpi_load(&blocks->lent[number], relaxed); /* [figure] */
    cpi_struct_write(description, &known, sizeof known);
    return 0;
}

int cpool_sized_stats(const cpool_sized_t *blocks, cpool_sized_stats_t *stats)
{
    cpool_sized_stats_t known = CPOOL_SIZED_STATS_INIT;
    size_t number;

    if (CPI_HAS_ENDED(blocks))
        return CPOOL_EPOOL;
    if (stats == NULL)
        return CPOOL_ENULL;
    if (cpi_struct_check(stats) != 0)
        return CPOOL_ESTRUCT;
    known.classes = blocks->classes;
    known.reserved_bytes = blocks->header + blocks->range;
    known.committed_bytes = blocks->header;
    for (number = 0; number < blocks->classes; number++) {
        const cpool_t *pool = cpi_sized_pool(blocks, number);
        cpool_stats_t figures = CPOOL_STATS_INIT;

        known.dry += cpi_load(&blocks->dry[number], relaxed); /* [figure] */
        if (pool == NULL || cpool_stats(pool, &figures) != 0)
            continue;
        known.live += figures.live;
        known.live_bytes += figures.live * blocks->sizes[number];
        known.committed_bytes += figures.committed_bytes;
    }
    known.fallback_live = cpi_load(&blocks->fallback_live, relaxed);   /* [figure] */
    known.fallback_bytes = cpi_load(&blocks->fallback_bytes, relaxed); /* [figure] */
    known.fallback_total = cpi_load(&blocks->fallback_total, relaxed); /* [figure] */
    cpi_struct_write(stats, &known, sizeof known);
    return 0;
}

static void add_figures(const cpool_t *pool, cpool_stats_t *sum)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (pool == NULL)
        return;
    cpi_layer_figures(pool, &stats);
    sum->capacity += stats.capacity;
    sum->max_capacity += stats.max_capacity;
    sum->slack += stats.slack;
    sum->live += stats.live;
    sum->in_depot += stats.in_depot;
    sum->in_caches += stats.in_caches;
    sum->fresh += stats.fresh;
    sum->circulating += stats.circulating;
    sum->magazines += stats.magazines;
    sum->thread_caches += stats.thread_caches;
    sum->exchanges += stats.exchanges;
    sum->cas_retries += stats.cas_retries;
    sum->recalls += stats.recalls;
    sum->growths += stats.growths;
    sum->trims += stats.trims;
    sum->waits += stats.waits;
    sum->spares += stats.spares;
    sum->committed_bytes += stats.committed_bytes;
    sum->stalls += stats.stalls;
    sum->system_calls += stats.system_calls;
    sum->registrations += stats.registrations;
}

void cpi_sized_figures(const void *owner, cpool_stats_t *stats)
{
    const cpool_sized_t *blocks = owner;
    size_t number;

    for (number = 0; number < blocks->classes; number++)
        add_figures(cpi_sized_pool(blocks, number), stats);
    stats->reserved_bytes = blocks->header + blocks->range;
    stats->committed_bytes += blocks->header;
}

size_t cpool_sized_trim(cpool_sized_t *blocks)
{
    size_t bytes = 0;
    size_t number;

    if (CPI_HAS_ENDED(blocks))
        return 0;
    for (number = 0; number < blocks->classes; number++) {
        cpool_t *pool = cpi_sized_pool(blocks, number);

        bytes += pool != NULL ? cpool_trim(pool) : 0;
    }
    return bytes;
}
