/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_condvar.c - a free list behind a mutex, and a condition variable for threads
 * that find it empty: the usual pool of a program that must wait for slots.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "waitlist.h"

struct condvar_pool {
    struct waitlist list;
    pthread_cond_t freed;
};

static void *rival_create(const struct bench_cell *cell)
{
    struct condvar_pool *pool = malloc(sizeof *pool);

    if (pool == NULL || !waitlist_init(&pool->list, cell)) {
        free(pool);
        return NULL;
    }
    pthread_cond_init(&pool->freed, NULL);
    return pool;
}

static void *rival_create_waitable(const struct bench_cell *cell)
{
    return rival_create(cell);
}

static void rival_destroy(void *handle)
{
    struct condvar_pool *pool = handle;

    pthread_cond_destroy(&pool->freed);
    waitlist_fini(&pool->list);
    free(pool);
}

static inline void *rival_alloc_wait(void *handle)
{
    struct condvar_pool *pool = handle;
    void *slot;

    pthread_mutex_lock(&pool->list.mutex);
    slot = waitlist_pop(&pool->list);
    if (slot == NULL)
        waitlist_count(&pool->list);
    while (slot == NULL) {
        pthread_cond_wait(&pool->freed, &pool->list.mutex);
        slot = waitlist_pop(&pool->list);
    }
    pthread_mutex_unlock(&pool->list.mutex);
    return slot;
}

static inline void rival_free(void *handle, void *slot)
{
    struct condvar_pool *pool = handle;

    pthread_mutex_lock(&pool->list.mutex);
    waitlist_push(&pool->list, slot);
    pthread_mutex_unlock(&pool->list.mutex);
    pthread_cond_signal(&pool->freed);
}

static uint64_t rival_waits(void *handle)
{
    return waitlist_waits(&((struct condvar_pool *)handle)->list);
}

#include "workload_wait.h"

static const struct bench_workload *const rival_workloads[] = {
    &hand_off_workload, &waiters_workload, &pressure_workload, NULL};

const struct bench_rival bench_rival_condvar = {
    "condvar", "a free list behind a mutex, with a condition variable",
    BENCH_POOL | BENCH_EAGER, sizeof(struct waitlist_link), SIZE_MAX,
    NULL, NULL, rival_create, rival_destroy, NULL, NULL, rival_workloads, NULL
};
