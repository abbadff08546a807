/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_call.c - calling threads that wait for a slot, after slots have come.
 *
 * The protocol is in queue.h.  A program that does not sleep waits too, as the
 * `bell`: a waiter that is called, and leaves at once instead of looking.
 */
#include "pool/pool_alloc.h"
#include "wait/pool_wait.h"
#include "host/os.h"
#include "host/thread.h"
#include "cache/mark.h"

void cpi_pool_wake(struct cpi_waiter *waiter)
{
    struct cpi_sleeper *sleeper = (struct cpi_sleeper *)(void *)waiter;

    if (waiter != NULL)
        cpi_condition_signal(&sleeper->woken);
}

bool cpi_pool_take_bell(struct cpi_waiters *waiters, bool called)
{
    struct cpi_waiter *bell = &waiters->bell;
    bool pass_on = cpi_queue_leave(&waiters->queue, bell, bell->epoch - (called ? 1u : 0u));

    waiters->bell_waits = false;
    waiters->bell_owed = false;
    cpi_queue_starve(&waiters->queue, cpi_os_now());
    return pass_on;
}

void cpi_pool_call(struct cpi_pool *pool)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);
    struct cpi_waiter *waiter;
    cpool_ready_t ready;
    void *context;
    bool pass_on;

    do {
        ready = NULL;
        context = NULL;
        pass_on = false;
        cpi_mutex_lock(&waiters->lock);
        waiter = cpi_queue_call(&waiters->queue);
        if (waiter == &waiters->bell) {
            pass_on = cpi_pool_take_bell(waiters, true);
            ready = waiters->ready;
            context = waiters->ready_context;
        } else {
            cpi_pool_wake(waiter);
        }
        cpi_mutex_unlock(&waiters->lock);
        if (ready != NULL)
            ready(pool->handle, context);
        if (pass_on)
            cpi_mark_barrier(&pool->registry.barriers);
    } while (pass_on && cpi_pool_has_any(pool));
}

bool cpi_pool_serve(struct cpi_pool *pool, void *slot, const struct cpi_waiter *finder)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);
    struct cpi_queue *queue = &waiters->queue;
    struct cpi_waiter *waiter = NULL;

    cpi_mutex_lock(&waiters->lock);
    if (cpi_queue_says(queue, CPI_QUEUE_STARVES) && queue->first != finder) {
        waiter = cpi_queue_serve(queue, slot);
        cpi_queue_starve(queue, cpi_os_now());
        cpi_pool_wake(waiter);
    }
    cpi_mutex_unlock(&waiters->lock);
    return waiter != NULL;
}

void cpi_pool_call_if_left(struct cpi_pool *pool, const struct cpi_cache *cache)
{
    if (cpi_pool_left(pool, cache) != 0)
        cpi_pool_call(pool);
}
