/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_tbb.c - oneTBB's scalable_malloc and scalable_free, called directly.
 *
 * Looked up when the program runs, so nothing is needed to build it.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_HAS_HANDLES
#include "bench.h"

#define LIBRARY "libtbbmalloc.so.2"

static void *(*scalable_malloc)(size_t size);
static void *(*scalable_calloc)(size_t count, size_t size);
static void (*scalable_free)(void *memory);

static const char *rival_absent(void)
{
    scalable_malloc = (void *(*)(size_t))bench_symbol(LIBRARY, "scalable_malloc");
    scalable_calloc = (void *(*)(size_t, size_t))bench_symbol(LIBRARY, "scalable_calloc");
    scalable_free = (void (*)(void *))bench_symbol(LIBRARY, "scalable_free");
    if (scalable_malloc == NULL || scalable_calloc == NULL || scalable_free == NULL)
        return LIBRARY " is not installed";
    return NULL;
}

static const char *rival_version(void)
{
    return LIBRARY;
}

/* The handle is the size, as in rival_malloc.c. */
static void *rival_create(const struct bench_cell *cell)
{
    return (void *)(uintptr_t)cell->slot_size;
}

static void rival_destroy(void *pool)
{
    (void)pool;
}

static inline void *rival_alloc(void *handle)
{
    return scalable_malloc((size_t)(uintptr_t)handle);
}

static inline void *rival_calloc(void *handle, size_t size)
{
    (void)handle;
    return scalable_calloc(1, size);
}

static inline void rival_free(void *handle, void *slot)
{
    (void)handle;
    scalable_free(slot);
}

#include "workloads.h"

const struct bench_rival bench_rival_tbb = {
    "tbb", "oneTBB's scalable_malloc and scalable_free",
    0, 8, SIZE_MAX,
    rival_absent, rival_version, rival_create, rival_destroy, NULL, NULL,
    rival_workloads, NULL
};
