/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_object.c - libcpool by an object pool.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_HAS_HANDLES
#define RIVAL_MAKES_POOLS
#include "rival_cpool.h"

#include <cpool/object.h>

#define RIVAL_ID bench_rival_cpool_object
#define RIVAL_NAME "cpool-object"
#define RIVAL_SUMMARY "libcpool by an object pool, objects created on demand"
#define RIVAL_TRAITS (BENCH_OURS | BENCH_POOL)
#define RIVAL_SMALLEST 8
#define RIVAL_LARGEST SIZE_MAX

static int objects_make(cpool_objects_t **pool, const cpool_objects_config_t *config)
{
    return cpool_objects_create(pool, config);
}

static void objects_unmake(cpool_objects_t *pool)
{
    cpool_objects_destroy(pool);
}

static inline void *rival_alloc(void *handle)
{
    return cpool_object_get((cpool_objects_t *)handle);
}

static inline void rival_free(void *handle, void *slot)
{
    cpool_object_put((cpool_objects_t *)handle, slot);
}

#include "rival_cpool_object.h"
