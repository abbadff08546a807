/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call.c - the calls of those that wait, and the life of their part of a pool.
 *
 * A thread that gives a slot back is not done when another one can have the slot: it looks whether
 * to call a waiter (alloc.c).
 *
 * ORDERING TABLE
 *   tally | waits load           | relaxed | - | -
 *   late  | delayed load, and store with the lock held | relaxed | - | -
 */
#include "base/atomic.h"
#include "host/os.h"
#include "process/thread.h"
#include "pool/feature.h"
#include "pool/alloc.h"
#include "wait/pool_wait.h"

/* --- Calls, after slots have come (queue.h) --- */

void cpi_pool_wake(struct cpi_waiter *waiter)
{
    struct cpi_sleeper *sleeper = (struct cpi_sleeper *)(void *)waiter;

    if (waiter != NULL)
        cpi_condition_signal(&sleeper->woken);
}

bool cpi_pool_take_bell(struct cpi_pool *pool, bool called)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);
    struct cpi_waiter *bell = &waiters->bell;
    bool pass_on = cpi_queue_leave(&waiters->queue, bell, bell->epoch - (called ? 1u : 0u));

    waiters->bell_waits = false;
    waiters->bell_owed = false;
    cpi_queue_starve(&waiters->queue, cpi_os_now());
    cpi_reclaim_end(&pool->registry, waiters->bell_begun);
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
            pass_on = cpi_pool_take_bell(pool, true);
            ready = waiters->ready;
            context = waiters->ready_context;
        } else {
            cpi_pool_wake(waiter);
        }
        cpi_mutex_unlock(&waiters->lock);
        if (ready != NULL)
            ready(pool->handle, context);
        if (pass_on)
            (void)cpi_barrier(&pool->registry);
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

void cpi_pool_came(struct cpi_pool *pool)
{
    if (CPI_UNLIKELY(cpi_queue_is_asked(&cpi_waiters_of(pool)->queue, cpi_has_barrier())) &&
        cpi_pool_left(pool) != 0)
        cpi_pool_call(pool);
}

bool cpi_pool_hand_over_free(struct cpi_pool *pool, void *slot)
{
    return cpi_pool_hand_over(pool, slot, NULL);
}

/* Wakes those that sleep for long. */
CPI_COLD void cpi_wait_delayed(struct cpi_pool *pool)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);
    struct cpi_waiter *waiter;

    if (cpi_load(&waiters->delayed, relaxed)) /* [late] */
        return;
    cpi_mutex_lock(&waiters->lock);
    cpi_store(&waiters->delayed, true, relaxed); /* [late] */
    for (waiter = waiters->queue.first; waiter != NULL; waiter = waiter->next)
        if (waiter->asleep)
            cpi_pool_wake(waiter);
    cpi_mutex_unlock(&waiters->lock);
}

bool cpi_wait_is_delayed(const struct cpi_pool *pool)
{
    return cpi_load(&cpi_waiters_of(pool)->delayed, relaxed); /* [late] */
}

/* --- The life of a pool --- */

CPI_COLD void cpi_wait_plan(struct cpi_layout *layout)
{
    layout->parts[CPI_PART_WAITERS] = sizeof(struct cpi_waiters);
}

/* Nobody waits, at first and in the child of a fork.  The callback and the dismissals stay. */
CPI_COLD static void renew(struct cpi_waiters *waiters)
{
    cpi_queue_init(&waiters->queue);
    waiters->lock = (cpi_mutex_t)CPI_MUTEX_INIT;
    atomic_init(&waiters->waits, 0);
    waiters->bell_waits = false;
    waiters->bell_owed = false;
    waiters->bell_looks = 0;
    waiters->starving_after = CPI_STARVING_AFTER;
}

CPI_COLD void cpi_wait_begin(struct cpi_pool *pool)
{
    renew(cpi_waiters_of(pool));
}

CPI_COLD void cpi_wait_end(struct cpi_pool *pool)
{
    cpi_mutex_destroy(&cpi_waiters_of(pool)->lock);
}

CPI_COLD void cpi_wait_forked(struct cpi_pool *pool)
{
    renew(cpi_waiters_of(pool));
}

CPI_COLD void cpi_wait_figures(const struct cpi_pool *pool, cpool_stats_t *stats)
{
    stats->waits = cpi_load(&cpi_waiters_of(pool)->waits, relaxed); /* [tally] */
}
