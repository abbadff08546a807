/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_semaphore.c - a POSIX semaphore that counts the free slots, and a free
 * list behind a mutex from which then to take one.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <limits.h>
#include <semaphore.h>

#include "waitlist.h"

struct semaphore_pool {
    struct waitlist list;
    sem_t available; /* its value: slots on the list, less those about to be taken */
};

static void *rival_create(const struct bench_cell *cell)
{
    struct semaphore_pool *pool = malloc(sizeof *pool);

    if (pool == NULL || cell->capacity > INT_MAX || !waitlist_init(&pool->list, cell)) {
        free(pool);
        return NULL;
    }
    if (sem_init(&pool->available, 0, (unsigned)cell->capacity) != 0)
        bench_fail("no semaphore");
    return pool;
}

static void *rival_create_waitable(const struct bench_cell *cell)
{
    return rival_create(cell);
}

static void rival_destroy(void *handle)
{
    struct semaphore_pool *pool = handle;

    sem_destroy(&pool->available);
    waitlist_fini(&pool->list);
    free(pool);
}

static inline void *rival_alloc_wait(void *handle)
{
    struct semaphore_pool *pool = handle;
    void *slot;

    if (sem_trywait(&pool->available) != 0) {
        waitlist_count(&pool->list);
        while (sem_wait(&pool->available) != 0) /* interrupted */
            continue;
    }
    pthread_mutex_lock(&pool->list.mutex);
    slot = waitlist_pop(&pool->list);
    pthread_mutex_unlock(&pool->list.mutex);
    return slot;
}

static inline void rival_free(void *handle, void *slot)
{
    struct semaphore_pool *pool = handle;

    pthread_mutex_lock(&pool->list.mutex);
    waitlist_push(&pool->list, slot);
    pthread_mutex_unlock(&pool->list.mutex);
    sem_post(&pool->available);
}

static uint64_t rival_waits(void *handle)
{
    return waitlist_waits(&((struct semaphore_pool *)handle)->list);
}

#include "workload_wait.h"

static const struct bench_workload *const rival_workloads[] = {
    &hand_off_workload, &waiters_workload, &pressure_workload, NULL};

const struct bench_rival bench_rival_semaphore = {
    "semaphore", "a free list behind a mutex, with a POSIX semaphore",
    BENCH_POOL | BENCH_EAGER, sizeof(struct waitlist_link), SIZE_MAX,
    NULL, NULL, rival_create, rival_destroy, NULL, NULL, rival_workloads, NULL
};
