/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_object.c - libcpool by an object pool without hooks, to be compared with the
 * tracked and the exact pool, on which it stands.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_HAS_HANDLES
#define RIVAL_MAKES_POOLS
#include "rival_cpool.h"

#include <cpool/object.h>

static void *rival_create(const struct bench_cell *cell)
{
    cpool_object_config_t config = CPOOL_OBJECT_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;
    int code;

    type.object_size = cell->slot_size;
    config.name = "bench";
    config.type = &type;
    config.capacity = cell->capacity;
    code = cpool_objects_create(&pool, &config);
    if (code != CPOOL_OK)
        bench_fail("cpool_objects_create: %s", cpool_strerror(code));
    return pool;
}

static void rival_destroy(void *pool)
{
    cpool_objects_destroy((cpool_objects_t *)pool);
}

static inline void *rival_alloc(void *handle)
{
    return cpool_object_get((cpool_objects_t *)handle);
}

static inline void rival_free(void *handle, void *slot)
{
    cpool_object_put((cpool_objects_t *)handle, slot);
}

static void rival_object_exchanges(void *pool, struct bench_exchanges *so_far)
{
    rival_exchanges(cpool_objects_pool((cpool_objects_t *)pool), so_far);
}

#include "workload_same_slot.h"
#include "workload_burst.h"

static const struct bench_workload *const rival_workloads[] = {
    &same_slot_workload, &burst_workload, NULL
};

const struct bench_rival bench_rival_cpool_object = {
    "cpool-object", "libcpool by an object pool",
    BENCH_OURS | BENCH_POOL, 8, SIZE_MAX, NULL, rival_version, rival_create, rival_destroy,
    NULL, NULL, rival_workloads, rival_object_exchanges
};
