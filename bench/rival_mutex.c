/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_mutex.c - a free list behind a mutex: the pool that everybody writes
 * first.  The links lie in the free slots.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <pthread.h>
#include <stdlib.h>

#include "bench.h"

struct link {
    struct link *next;
};

struct mutex_pool {
    pthread_mutex_t mutex;
    struct link *top; /* guarded by mutex */
    char *slots;
};

static void *rival_create(const struct bench_cell *cell)
{
    struct mutex_pool *pool = malloc(sizeof *pool);
    size_t i;

    if (pool == NULL || (pool->slots = malloc(cell->capacity * cell->slot_size)) == NULL) {
        free(pool);
        return NULL;
    }
    pthread_mutex_init(&pool->mutex, NULL);
    pool->top = NULL;
    for (i = cell->capacity; i-- > 0;) {
        struct link *link = (struct link *)(void *)(pool->slots + i * cell->slot_size);

        link->next = pool->top;
        pool->top = link;
    }
    return pool;
}

static void rival_destroy(void *handle)
{
    struct mutex_pool *pool = handle;

    pthread_mutex_destroy(&pool->mutex);
    free(pool->slots);
    free(pool);
}

static inline void *rival_alloc(void *handle)
{
    struct mutex_pool *pool = handle;
    struct link *link;

    pthread_mutex_lock(&pool->mutex);
    link = pool->top;
    if (link != NULL)
        pool->top = link->next;
    pthread_mutex_unlock(&pool->mutex);
    return link;
}

static inline void *rival_calloc(void *handle, size_t size)
{
    return bench_clear(rival_alloc(handle), size);
}

static inline void rival_free(void *handle, void *slot)
{
    struct mutex_pool *pool = handle;
    struct link *link = slot;

    pthread_mutex_lock(&pool->mutex);
    link->next = pool->top;
    pool->top = link;
    pthread_mutex_unlock(&pool->mutex);
}

#include "workloads.h"

const struct bench_rival bench_rival_mutex = {
    "mutex", "a free list behind a pthread mutex",
    BENCH_POOL | BENCH_EAGER, sizeof(struct link), SIZE_MAX,
    NULL, NULL, rival_create, rival_destroy, NULL, NULL, rival_workloads, NULL
};
