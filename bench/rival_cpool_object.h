/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_object.h - what the ways of calling libcpool's object pools share.
 *
 * A template: included by a file that defines RIVAL_ID, RIVAL_NAME, RIVAL_SUMMARY,
 * RIVAL_SMALLEST and RIVAL_LARGEST, in bytes, and objects_make and objects_unmake, by
 * which a pool is made from its configuration and destroyed.  Its config knows
 * two keys, and takes no notice of the members of cpool_config_t:
 *
 *     hooks=1      two hooks of one store each
 *     populate=1   all objects are created with the pool, and not on demand
 *
 * pressure has a waitable pool, in which threads sleep for objects.
 */
#include <pthread.h>
#include <stdlib.h>

#include "histogram.h"
#include "ring.h"

static int object_activate(void *object, void *arg)
{
    (void)arg;
    *(volatile char *)object = 1;
    return 0;
}

static void object_deactivate(void *object, void *arg)
{
    (void)arg;
    *(volatile char *)object = 0;
}

static void *object_create_with(const struct bench_cell *cell, unsigned flags)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;
    int code;

    type.object_size = cell->slot_size;
    if (strstr(cell->config, "hooks=1") != NULL) {
        type.activate = object_activate;
        type.deactivate = object_deactivate;
    }
    config.name = "bench";
    config.type = &type;
    config.capacity = cell->capacity;
    config.populate = strstr(cell->config, "populate=1") != NULL ? cell->capacity : 0;
    config.flags = flags;
    code = objects_make(&pool, &config);
    if (code != CPOOL_OK)
        bench_fail("no object pool: %s", cpool_strerror(code));
    return pool;
}

static void *rival_create(const struct bench_cell *cell)
{
    return object_create_with(cell, 0);
}

static void rival_destroy(void *pool)
{
    objects_unmake((cpool_objects_t *)pool);
}

static void object_exchanges(void *pool, struct bench_exchanges *so_far)
{
    rival_exchanges(cpool_objects_pool((cpool_objects_t *)pool), so_far);
}

/* ---- Waiting ---------------------------------------------------------------------- */

static void *rival_create_waitable(const struct bench_cell *cell)
{
    return object_create_with(cell, CPOOL_OBJECT_WAITABLE);
}

static inline void *rival_alloc_wait(void *handle)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    void *object;

    grant.wait_ns = UINT64_MAX;
    return cpool_object_get_with((cpool_objects_t *)handle, &object, &grant) == 0 ? object : NULL;
}

static uint64_t rival_waits(void *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (cpool_read_stats(cpool_objects_pool((cpool_objects_t *)pool), &stats) != 0)
        bench_fail("cpool_read_stats failed");
    return stats.waits;
}

#include "workload_same_slot.h"
#include "workload_burst.h"
#include "workload_wait.h"

static const struct bench_workload *const rival_workloads[] = {
    &same_slot_workload, &burst_workload, &pressure_workload, NULL
};

const struct bench_rival RIVAL_ID = {
    RIVAL_NAME, RIVAL_SUMMARY, RIVAL_TRAITS, RIVAL_SMALLEST, RIVAL_LARGEST, NULL,
    rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads, object_exchanges
};
