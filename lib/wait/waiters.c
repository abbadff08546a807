/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waiters.c - the lock of a pool's waiters, and forks on top of its holder.
 */
#include "wait/pool_wait.h"

#include "host/thread.h"

/* Nobody waits.  The callback and the dismissals stay. */
CPI_COLD static void renew(struct cpi_waiters *waiters)
{
    cpi_queue_show(&waiters->queue, 0);
    waiters->forks = cpi_thread_forks();
    cpi_queue_init(&waiters->queue);
    atomic_init(&waiters->waits, 0);
    waiters->bell_waits = false;
    waiters->bell_owed = false;
    waiters->bell_looks = 0;
    waiters->starving_after = CPI_STARVING_AFTER;
}

CPI_COLD void cpi_waiters_begin(struct cpi_waiters *waiters)
{
    if (waiters->holder == cpi_thread_token())
        return;
    renew(waiters);
    waiters->lock = (cpi_mutex_t)CPI_MUTEX_INIT;
    waiters->holder = 0;
}

void cpi_waiters_seize(struct cpi_waiters *waiters)
{
    waiters->holder = cpi_thread_token();
    if (CPI_UNLIKELY(waiters->forks != cpi_thread_forks()))
        renew(waiters);
}

void cpi_waiters_lock(struct cpi_waiters *waiters)
{
    cpi_mutex_lock(&waiters->lock);
    cpi_waiters_seize(waiters);
}

void cpi_waiters_unlock(struct cpi_waiters *waiters)
{
    waiters->holder = 0;
    cpi_mutex_unlock(&waiters->lock);
}
