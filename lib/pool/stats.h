/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats.h - figures of a pool, and live slots.
 *
 * Includes pool.h.
 */
#ifndef CPI_STATS_H
#define CPI_STATS_H

#include "pool/pool.h"

/* A copy of a pool's name and figures. */
struct cpi_view {
    cpool_view_t public;
    cpool_stats_t stats;
    char name[CPI_NAME_SIZE];
};

/* pools.c.  Reads the pool of a descriptor.  Returns false if there is none.  May block. */
bool cpi_view_read(struct cpi_view *view, size_t number);

/* Reads the figures, with the lock held. */
void cpi_pool_figures(struct cpi_pool *pool, cpool_stats_t *stats);

/* Counts the live slots for the peak and the average.  Wait-free. */
void cpi_pool_count_at_exchange(struct cpi_pool *pool, struct cpi_cache *cache);

/* Before an alloc that leaves the inline path, most of all for an exchange with the depot. */
static inline void cpi_pool_note_exchange(struct cpi_pool *pool, struct cpi_cache *cache)
{
    if (CPI_UNLIKELY(--cache->countdown == 0))
        cpi_pool_count_at_exchange(pool, cache);
}

/* Free slots in the depot.  With the lock held. */
size_t cpi_pool_in_depot(const struct cpi_pool *pool, const struct cpi_registry_figures *figures);

static inline size_t cpi_none_at_least(int64_t live)
{
    return live > 0 ? (size_t)live : 0;
}

/* Slots that are live, at least 0.  With the lock held. */
size_t cpi_pool_count_live(const struct cpi_pool *pool);

/* Slots that are live.  Below zero, slots came back more often than they went out.
 * Exact if nobody uses the pool.  With the lock held. */
int64_t cpi_pool_live(const struct cpi_pool *pool, const struct cpi_registry_figures *figures);

#endif /* CPI_STATS_H */
