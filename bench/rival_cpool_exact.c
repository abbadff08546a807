/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_exact.c - libcpool with CPOOL_EXACT: never more than the capacity
 * live.  Takes part where that makes a difference: the cost per operation, and
 * a pool that runs dry.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_FLAGS CPOOL_EXACT
#include "rival_cpool.h"

#include <pthread.h>
#include <stdlib.h>

#include "histogram.h"

#include "workload_same_slot.h"
#include "workload_burst.h"
#include "workload_occupancy.h"
#include "workload_recall.h"

static const struct bench_workload *const rival_workloads[] = {
    &same_slot_workload, &burst_workload, &occupancy_workload, &last_slot_workload,
    &recall_workload, NULL
};

const struct bench_rival bench_rival_cpool_exact = {
    "cpool-exact", "libcpool with CPOOL_EXACT",
    BENCH_OURS | BENCH_POOL, 8, SIZE_MAX,
    NULL, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads, rival_exchanges
};
