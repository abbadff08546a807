/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame_feature.c - frames in the life of a pool.
 */
#include "frame/frame.h"

#include "pool/feature.h"

CPI_COLD static void plan_frames(struct cpi_layout *layout, const cpool_config_t *config)
{
    (void)config;
    layout->parts[CPI_PART_FRAME] = sizeof(struct cpi_frame_part);
}

CPI_COLD static void end_frames(struct cpi_pool *pool)
{
    struct cpi_frame_part *part = pool->part[CPI_PART_FRAME];

    if (part != NULL && part->end != NULL)
        part->end(pool);
}

const struct cpi_feature cpi_frame_feature = {
    .plan = plan_frames, .end = end_frames, .reset = end_frames};
