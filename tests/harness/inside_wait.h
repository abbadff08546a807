/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inside_wait.h - the waiters of a pool, for tests.
 */
#ifndef INSIDE_WAIT_H
#define INSIDE_WAIT_H

#include "inside.h"
#include "wait/waiters.h"

/* Returns when the first waiter starves, and sleeps. */
static inline void inside_await_hunger(cpool_t *pool)
{
    struct cpi_waiters *waiters = &inside(pool)->waiters;
    bool starves;

    do {
        sched_yield();
        cpi_mutex_lock(&waiters->lock);
        starves = cpi_queue_says(&waiters->queue, CPI_QUEUE_STARVES) &&
                  waiters->queue.first->asleep;
        cpi_mutex_unlock(&waiters->lock);
    } while (!starves);
}

#endif /* INSIDE_WAIT_H */
