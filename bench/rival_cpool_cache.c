/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_cache.c - libcpool through an explicit cache handle, inline.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_HAS_HANDLES
#include "rival_cpool.h"

static void *rival_enter(void *pool)
{
    cpool_cache_t *cache;

    if (cpool_cache_create(&cache, (cpool_t *)pool) != CPOOL_OK)
        bench_fail("there is no cache");
    return cache;
}

static void rival_leave(void *cache)
{
    cpool_cache_destroy((cpool_cache_t *)cache);
}

static inline void *rival_alloc(void *handle)
{
    return cpool_cache_alloc((cpool_cache_t *)handle);
}

/* There is no call for a cleared slot through a cache: as a user would do it. */
static inline void *rival_calloc(void *handle, size_t size)
{
    return bench_clear(cpool_cache_alloc((cpool_cache_t *)handle), size);
}

static inline void rival_free(void *handle, void *slot)
{
    cpool_cache_free((cpool_cache_t *)handle, slot);
}

#include "workloads.h"

const struct bench_rival bench_rival_cpool_cache = {
    "cpool-cache", "libcpool, inline, through an explicit cache handle",
    BENCH_OURS, 8, SIZE_MAX,
    NULL, rival_version, rival_create, rival_destroy, rival_enter, rival_leave,
    rival_workloads, rival_exchanges
};
