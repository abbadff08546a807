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

#endif /* CPI_STATS_H */
