/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool.c - libcpool as most programs call it: cpool_alloc(pool), inline.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "rival_cpool.h"

static inline void *rival_alloc(void *handle)
{
    return cpool_alloc((cpool_t *)handle);
}

static inline void *rival_calloc(void *handle, size_t size)
{
    (void)size;
    return cpool_calloc((cpool_t *)handle);
}

static inline void rival_free(void *handle, void *slot)
{
    cpool_free((cpool_t *)handle, slot);
}

#include "workloads.h"

const struct bench_rival bench_rival_cpool = {
    "cpool", "libcpool, inline, the calling thread's cache found by itself",
    BENCH_OURS | BENCH_POOL, 8, SIZE_MAX,
    NULL, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads
};
