/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame_feature.c - frames in the life of a pool.
 *
 * ORDERING TABLE
 *   alone | frames load, while no thread uses the pool | relaxed | - | -
 */
#include "frame/frame.h"

#include "base/atomic.h"
#include "pool/feature.h"

CPI_COLD static void plan_frames(struct cpi_layout *layout, const cpool_config_t *config)
{
    (void)config;
    layout->parts[CPI_PART_FRAME] = sizeof(struct cpi_frame_part);
}

/* At a reset, with the lock held.  The caches have ended, and the depot is reset. */
CPI_COLD static void end_frames(struct cpi_pool *pool)
{
    struct cpi_frame_part *part = pool->part[CPI_PART_FRAME];

    if (part != NULL && cpi_load(&part->frames, relaxed) != NULL) /* [alone] */
        part->end(pool);
}

/* A pool that cannot come to be may end with the lock held, and has no frames. */
CPI_COLD static void end_pool(struct cpi_pool *pool)
{
    struct cpi_frame_part *part = pool->part[CPI_PART_FRAME];

    if (part == NULL || cpi_load(&part->frames, relaxed) == NULL) /* [alone] */
        return;
    cpi_lock();
    part->end(pool);
    cpi_unlock();
}

const struct cpi_feature cpi_frame_feature = {
    .plan = plan_frames, .end = end_pool, .reset = end_frames};
