/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_colour.c - libcpool with CPOOL_COLOUR: a line more from slot to slot,
 * so that slots of large powers of two do not share a few sets of the caches.
 * Takes part where that makes a difference.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_FLAGS CPOOL_COLOUR
#include "rival_cpool.h"

#include <stdlib.h>

#include "workload_burst.h"
#include "workload_replace.h"

static const struct bench_workload *const rival_workloads[] = {
    &burst_workload, &replace_workload, NULL
};

const struct bench_rival bench_rival_cpool_colour = {
    "cpool-colour", "libcpool with CPOOL_COLOUR, slots of 256 bytes and more",
    BENCH_OURS | BENCH_POOL, 256, SIZE_MAX,
    NULL, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads, rival_exchanges
};
