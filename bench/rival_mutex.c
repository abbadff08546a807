/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_mutex.c - a free list behind a mutex: the pool that everybody writes
 * first.  The links lie in the free slots.  With priorities, as plain: a heap of pointers
 * behind a mutex, in which each object knows its place.
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

/* ---- With priorities ------------------------------------------------------------ */

#define RIVAL_RECLAIMS

struct voice {
    int64_t priority;
    size_t place; /* in the heap: for a put or another priority, which this needs not */
    char data[];
};

struct mutex_heap {
    pthread_mutex_t mutex;
    struct voice **heap; /* guarded by mutex, the least important one first */
    size_t active, capacity;
    char *voices;
    size_t stride;
};

static void heap_set(struct mutex_heap *pool, size_t place, struct voice *voice)
{
    pool->heap[place] = voice;
    voice->place = place;
}

static void heap_up(struct mutex_heap *pool, struct voice *voice, size_t place)
{
    for (; place > 0; place = (place - 1) / 2) {
        struct voice *above = pool->heap[(place - 1) / 2];

        if (above->priority <= voice->priority)
            break;
        heap_set(pool, place, above);
    }
    heap_set(pool, place, voice);
}

static void heap_down(struct mutex_heap *pool, struct voice *voice)
{
    size_t place = 0, child;

    for (; (child = 2 * place + 1) < pool->active; place = child) {
        if (child + 1 < pool->active &&
            pool->heap[child + 1]->priority < pool->heap[child]->priority)
            child++;
        if (pool->heap[child]->priority >= voice->priority)
            break;
        heap_set(pool, place, pool->heap[child]);
    }
    heap_set(pool, place, voice);
}

static void *rival_reclaim_create(const struct bench_cell *cell, size_t n)
{
    struct mutex_heap *pool = bench_memory(1, sizeof *pool);

    pthread_mutex_init(&pool->mutex, NULL);
    pool->heap = bench_memory(n, sizeof(struct voice *));
    pool->stride = sizeof(struct voice) + cell->slot_size;
    pool->voices = bench_memory(n, pool->stride);
    pool->capacity = n;
    return pool;
}

static void rival_reclaim_destroy(void *handle)
{
    struct mutex_heap *pool = handle;

    pthread_mutex_destroy(&pool->mutex);
    free(pool->voices);
    free(pool->heap);
    free(pool);
}

static inline void *rival_reclaim_get(void *handle, int64_t priority)
{
    struct mutex_heap *pool = handle;
    struct voice *voice;

    pthread_mutex_lock(&pool->mutex);
    if (pool->active < pool->capacity) {
        voice = (struct voice *)(void *)(pool->voices + pool->active * pool->stride);
        voice->priority = priority;
        heap_up(pool, voice, pool->active++);
    } else {
        voice = pool->heap[0];
        voice->priority = priority;
        heap_down(pool, voice);
    }
    pthread_mutex_unlock(&pool->mutex);
    return voice->data;
}

#include "workloads.h"

const struct bench_rival bench_rival_mutex = {
    "mutex", "a free list behind a pthread mutex",
    BENCH_POOL | BENCH_EAGER, sizeof(struct link), SIZE_MAX,
    NULL, NULL, rival_create, rival_destroy, NULL, NULL, rival_workloads, NULL
};
