/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_tbb_pool.c - oneTBB's memory pool over a buffer of fixed size, as its
 * C++ class fixed_pool uses it.
 *
 * Looked up when the program runs, so nothing is needed to build it.  The
 * functions are those of namespace rml that fixed_pool calls, by their linker
 * names, and the policy is laid out as they expect it.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <stdlib.h>

#include "bench.h"

#define LIBRARY "libtbbmalloc.so.2"

/* rml::MemPoolPolicy. */
struct policy {
    void *(*allocate)(intptr_t pool, size_t *bytes);
    int (*release)(intptr_t pool, void *memory, size_t bytes);
    size_t granularity;
    int version;
    unsigned fixed : 1;
    unsigned keep_memory : 1;
    unsigned reserved : 30;
};

/* rml::MemPoolPolicy::TBBMALLOC_POOL_VERSION. */
#define POLICY_VERSION 1

/* Room beyond the slots, for the library's data per thread and per block. */
#define ROOM ((size_t)64 << 20)

struct tbb_pool {
    void *pool; /* rml::MemoryPool */
    void *buffer;
    size_t bytes;
    size_t slot_size;
    bool given; /* the buffer is in the library's hands */
};

static int (*pool_create)(intptr_t id, const struct policy *policy, void **pool);
static bool (*pool_destroy)(void *pool);
static void *(*pool_malloc)(void *pool, size_t size);
static bool (*pool_free)(void *pool, void *memory);

static const char *rival_absent(void)
{
    pool_create = (int (*)(intptr_t, const struct policy *, void **))bench_symbol(
        LIBRARY, "_ZN3rml14pool_create_v1ElPKNS_13MemPoolPolicyEPPNS_10MemoryPoolE");
    pool_destroy =
        (bool (*)(void *))bench_symbol(LIBRARY, "_ZN3rml12pool_destroyEPNS_10MemoryPoolE");
    pool_malloc = (void *(*)(void *, size_t))bench_symbol(
        LIBRARY, "_ZN3rml11pool_mallocEPNS_10MemoryPoolEm");
    pool_free =
        (bool (*)(void *, void *))bench_symbol(LIBRARY, "_ZN3rml9pool_freeEPNS_10MemoryPoolEPv");
    if (pool_create == NULL || pool_destroy == NULL || pool_malloc == NULL || pool_free == NULL)
        return LIBRARY " is not installed";
    return NULL;
}

static const char *rival_version(void)
{
    return LIBRARY;
}

/* The library asks for memory: it gets the whole buffer, once. */
static void *give_buffer(intptr_t id, size_t *bytes)
{
    struct tbb_pool *pool = (struct tbb_pool *)id;

    if (pool->given)
        return NULL;
    pool->given = true;
    *bytes = pool->bytes;
    return pool->buffer;
}

static void *rival_create(const struct bench_cell *cell)
{
    struct tbb_pool *pool = calloc(1, sizeof *pool);
    struct policy policy = { give_buffer, NULL, 0, POLICY_VERSION, 1, 0, 0 };

    if (pool == NULL)
        return NULL;
    pool->slot_size = cell->slot_size;
    pool->bytes = 2 * cell->capacity * cell->slot_size + ROOM;
    pool->buffer = malloc(pool->bytes);
    policy.granularity = pool->bytes;
    if (pool->buffer == NULL || pool_create((intptr_t)pool, &policy, &pool->pool) != 0) {
        free(pool->buffer);
        free(pool);
        return NULL;
    }
    return pool;
}

static void rival_destroy(void *handle)
{
    struct tbb_pool *pool = handle;

    pool_destroy(pool->pool);
    free(pool->buffer);
    free(pool);
}

static inline void *rival_alloc(void *handle)
{
    struct tbb_pool *pool = handle;

    return pool_malloc(pool->pool, pool->slot_size);
}

static inline void *rival_calloc(void *handle, size_t size)
{
    return bench_clear(rival_alloc(handle), size);
}

static inline void rival_free(void *handle, void *slot)
{
    struct tbb_pool *pool = handle;

    pool_free(pool->pool, slot);
}

#include "workloads.h"

const struct bench_rival bench_rival_tbb_pool = {
    "tbb-pool", "oneTBB's memory pool over a fixed buffer (fixed_pool)",
    BENCH_POOL, 8, SIZE_MAX,
    rival_absent, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads, NULL
};
