/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_tracked.c - libcpool with CPOOL_TRACKED: a word for each slot changes with
 * every operation.  Takes part where the cost per operation shows.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_FLAGS CPOOL_TRACKED
#include "rival_cpool.h"

#include <pthread.h>
#include <stdlib.h>

#include "histogram.h"

#include "workload_same_slot.h"
#include "workload_burst.h"
#include "workload_replace.h"
#include "workload_frame_end.h"

static const struct bench_workload *const rival_workloads[] = {
    &same_slot_workload, &burst_workload, &replace_workload, &frame_end_workload, NULL
};

const struct bench_rival bench_rival_cpool_tracked = {
    "cpool-tracked", "libcpool with CPOOL_TRACKED",
    BENCH_OURS | BENCH_POOL, 8, SIZE_MAX,
    NULL, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads, rival_exchanges
};
