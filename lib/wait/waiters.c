/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waiters.c - the lock of a pool's waiters, and forks on top of its holder, or of one that sleeps.
 */
#include "wait/pool_wait.h"

#include "base/atomic.h"
#include "host/thread.h"

#if defined(_WIN32) /* there is no fork, and no word that all threads write */
#define own_sleeper (*&(struct cpi_sleeper *){NULL})
#else
/* The calling thread's, while it sleeps. */
static CPI_INITIAL_EXEC _Thread_local struct cpi_sleeper *volatile own_sleeper;
#endif

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

CPI_COLD void cpi_waiters_rejoin(struct cpi_pool *pool, struct cpi_sleeper *self)
{
    if (self->forks == cpi_waiters_of(pool)->forks)
        return;
    self->forks = cpi_waiters_of(pool)->forks;
    if (self->waiter.slot != NULL)
        return;
    cpi_pool_join(pool, &self->waiter, self->waiter.due);
    self->waiter.epoch = self->vain + 1u;
}

/* Does not sleep if a handler has forked since the lock was taken.  If it did so behind the store
 * to `holder` the lock is another one. */
CPI_COLD void cpi_waiters_sleep(struct cpi_sleeper *self, uint64_t time)
{
    struct cpi_waiters *waiters = cpi_waiters_of(self->pool);
    unsigned before = self->forks;
    bool forked;

    self->waiter.asleep = true;
    own_sleeper = self;
    waiters->holder = 0;
    forked = before != cpi_thread_forks();
    atomic_signal_fence(memory_order_seq_cst); /* the handler's stores */
    if (!forked)
        cpi_condition_wait(&self->woken, &waiters->lock, time);
    else if (before != self->forks)
        cpi_mutex_lock(&waiters->lock);
    cpi_waiters_seize(waiters);
    self->waiter.asleep = false;
    own_sleeper = NULL;
}

/* A thread that has vanished with the lock may have been waking this one: then nobody is to touch
 * what it sleeps on. */
CPI_COLD void cpi_waiters_forked(struct cpi_pool *pool)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);
    struct cpi_sleeper *self = waiters->holder == 0 ? own_sleeper : NULL;

    cpi_waiters_begin(waiters);
    if (self == NULL || self->pool != pool || self->waiter.slot != NULL)
        return;
    cpi_waiters_rejoin(pool, self);
    (void)cpi_queue_announce(&waiters->queue, &self->waiter);
    self->waiter.asleep = true;
}
