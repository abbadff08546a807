/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * feature.h - what the folders above do in the life of a pool.
 *
 * Includes pool.h, config.h.
 *
 * Called for all pools.  Each function decides for itself whether the pool concerns it.
 */
#ifndef CPI_FEATURE_H
#define CPI_FEATURE_H

#include "pool/config.h"
#include "pool/pool.h"

/* Bytes for a part of the pool, for this configuration. */
void cpi_wait_plan(struct cpi_layout *layout);

/* The pool is built but for this, and its parts are zero.  */
void cpi_wait_begin(struct cpi_pool *pool);

/* Nobody uses the pool any more. */
void cpi_wait_end(struct cpi_pool *pool);

/* From now on slots may also come to a look that no operation calls for: those that a client holds
 * back (cpool/client.h).  May block.  is_delayed: whether that was called. */
void cpi_wait_delayed(struct cpi_pool *pool);
bool cpi_wait_is_delayed(const struct cpi_pool *pool);

/* In the child of a fork, after the caches were reclaimed.  With the lock held. */
void cpi_wait_forked(struct cpi_pool *pool);

/* Fill in figures, with the lock held. */
void cpi_wait_figures(const struct cpi_pool *pool, cpool_stats_t *stats);

#endif /* CPI_FEATURE_H */
