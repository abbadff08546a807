/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool.c - libcpool as most programs call it: cpool_alloc(pool), inline.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "rival_cpool.h"

#include <cpool/priority.h>

static inline void *rival_calloc(void *handle, size_t size)
{
    (void)size;
    return cpool_calloc((cpool_t *)handle);
}

/* Workloads that only libcpool has, or not every rival (workloads.h). */

#define RIVAL_IS_CPOOL
#define RIVAL_TRIMS
#define RIVAL_WAITS
#define RIVAL_RECLAIMS

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

static void *rival_reclaim_create(const struct bench_cell *cell, size_t n)
{
    cpool_object_config_t config = CPOOL_OBJECT_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;

    type.object_size = cell->slot_size;
    config.type = &type;
    config.capacity = n;
    if (cpool_objects_create(&pool, &config) != 0 ||
        cpool_priority_attach(pool, 0) != 0)
        bench_fail("no priority pool");
    return pool;
}

static void rival_reclaim_destroy(void *pool)
{
    cpool_objects_destroy((cpool_objects_t *)pool);
}

static inline void *rival_reclaim_get(void *pool, int64_t priority)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;

    if (cpool_priority_obtain((cpool_objects_t *)pool, priority, &grant) != 0)
        return NULL;
    return grant.object;
}

#include "workloads.h"

const struct bench_rival bench_rival_cpool = {
    "cpool", "libcpool, inline, the calling thread's cache found by itself",
    BENCH_OURS | BENCH_POOL, 8, SIZE_MAX,
    NULL, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads, rival_exchanges
};
