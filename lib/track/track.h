/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * track.h - pools with a word for each slot.
 *
 * Includes pool_impl.h.
 */
#ifndef CPI_TRACK_H
#define CPI_TRACK_H

#include "pool/pool_config.h"
#include "pool/pool_impl.h"
#include "track/slotmap.h"

/* The words of a pool, which are NULL if it has none. */
static inline struct cpi_slotmap *cpi_track_map(const struct cpi_pool *pool)
{
    return pool->map;
}

/* The slot's word becomes that of a free one.  Returns false after it has reported why this slot
 * cannot be freed. */
bool cpi_track_end_life(struct cpi_pool *pool, uintptr_t index, const char *function);

/* As a gate's. */
int cpi_track_retired(struct cpi_pool *pool, uintptr_t index, enum cpi_retiring step);


#endif /* CPI_TRACK_H */
