/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.c - the features of this build.
 *
 * Their numbers are the order in which they begin: gates before the ways that depend on them.
 */
#include "pool/feature.h"

#include "check/checks.h"
#include "frame/frame.h"
#include "retire/retire_impl.h"
#include "track/track.h"
#include "wait/pool_wait.h"

const struct cpi_feature *const cpi_features[CPI_FEATURES] = {
    [CPI_PART_TOOLS] = &cpi_tools_feature,
    [CPI_PART_TRACK] = &cpi_track_feature,
    [CPI_PART_CHECK] = &cpi_check_feature,
    [CPI_PART_WAIT] = &cpi_wait_feature,
    [CPI_PART_RETIRE] = &cpi_retire_feature,
    [CPI_PART_FRAME] = &cpi_frame_feature,
};
