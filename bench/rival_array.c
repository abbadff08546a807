/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_array.c - an unsynchronised stack of addresses: not a rival, but the limit of what a
 * machine can do.  One thread, no validation, no search for an owner.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <stdlib.h>

#include "bench.h"

struct array_pool {
    void **top; /* the next free entry, with the free slots below it */
    void **stack;
    char *slots;
};

static void *rival_create(const struct bench_cell *cell)
{
    struct array_pool *pool = calloc(1, sizeof *pool);
    size_t i;

    if (pool == NULL)
        return NULL;
    pool->stack = malloc(cell->capacity * sizeof *pool->stack);
    pool->slots = malloc(cell->capacity * cell->slot_size);
    if (pool->stack == NULL || pool->slots == NULL) {
        free(pool->stack);
        free(pool->slots);
        free(pool);
        return NULL;
    }
    for (i = 0; i < cell->capacity; i++)
        pool->stack[i] = pool->slots + (cell->capacity - 1 - i) * cell->slot_size;
    pool->top = pool->stack + cell->capacity;
    return pool;
}

static void rival_destroy(void *handle)
{
    struct array_pool *pool = handle;

    free(pool->stack);
    free(pool->slots);
    free(pool);
}

static inline void *rival_alloc(void *handle)
{
    struct array_pool *pool = handle;

    return pool->top == pool->stack ? NULL : *--pool->top;
}

static inline void *rival_calloc(void *handle, size_t size)
{
    return bench_clear(rival_alloc(handle), size);
}

static inline void rival_free(void *handle, void *slot)
{
    struct array_pool *pool = handle;

    *pool->top++ = slot;
}

#include "workloads.h"

const struct bench_rival bench_rival_array = {
    "array", "an unsynchronised array of addresses: the limit of the machine, one thread",
    BENCH_LIMIT | BENCH_SINGLE | BENCH_POOL | BENCH_EAGER, 8, SIZE_MAX,
    NULL, NULL, rival_create, rival_destroy, NULL, NULL, rival_workloads, NULL
};
