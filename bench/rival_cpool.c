/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool.c - libcpool as most programs call it: cpool_alloc(pool), inline.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "rival_cpool.h"

static inline void *rival_calloc(void *handle, size_t size)
{
    (void)size;
    return cpool_calloc((cpool_t *)handle);
}

/* Workloads that only libcpool has, or not every rival (workloads.h). */

#define RIVAL_IS_CPOOL
#define RIVAL_TRIMS
#define RIVAL_WAITS

static size_t rival_trim(void *pool)
{
    return cpool_trim((cpool_t *)pool);
}

static void *rival_create_waitable(const struct bench_cell *cell)
{
    return rival_create_with(cell, CPOOL_WAITABLE, 0);
}

static inline void *rival_alloc_wait(void *handle)
{
    return cpool_alloc_wait((cpool_t *)handle, NULL);
}

static uint64_t rival_waits(void *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (cpool_stats((const cpool_t *)pool, &stats) != 0)
        bench_fail("cpool_stats failed");
    return stats.waits;
}

#include "workloads.h"

const struct bench_rival bench_rival_cpool = {
    "cpool", "libcpool, inline, the calling thread's cache found by itself",
    BENCH_OURS | BENCH_POOL, 8, SIZE_MAX,
    NULL, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads, rival_exchanges
};
