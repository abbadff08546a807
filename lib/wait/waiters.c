/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waiters.c - the sleep of waiting threads, notices for event loops, and the calls for both.
 *
 * queue.h has the protocol, and doc/CONCURRENCY.md 7.1 the rest.
 *
 * ORDERING TABLE
 *   tally | waits fetch-and-add | relaxed | - | -
 *   hint  | the queue's word load | relaxed | - | -
 *   late  | delayed load, and store with the lock held | relaxed | - | -
 */
#include "wait/waiters.h"

#include "base/atomic.h"
#include "host/os.h"
#include "process/thread.h"

/* How often a waiter that searched in vain yields before it sleeps. */
#ifndef CPI_LINGER /* the explorer defines a small number */
#define CPI_LINGER 8u
#endif

/* The longest nap of a waiter after a call in vain, nanoseconds. */
#define CPI_LONGEST_NAP UINT64_C(400000)

/* --- Calls, after slots were freed --- */

/* With the lock held.  `waiter` may be NULL, but not the bell. */
static void wake_waiter(struct cpi_waiter *waiter)
{
    if (waiter != NULL)
        cpi_condition_signal(&((struct cpi_sleeper *)(void *)waiter)->woken);
}

void cpi_waiters_call(struct cpi_waiters *waiters)
{
    bool pass_on;

    do {
        struct cpi_waiter *waiter;
        cpool_ready_t ready = NULL;
        void *context = NULL;

        pass_on = false;
        cpi_mutex_lock(&waiters->lock);
        waiter = cpi_queue_call(&waiters->queue);
        if (waiter == &waiters->bell) {
            pass_on = cpi_notice_leave(waiters, true);
            ready = waiters->ready;
            context = waiters->ready_arg;
        } else {
            wake_waiter(waiter);
        }
        cpi_mutex_unlock(&waiters->lock);
        if (ready != NULL)
            ready(waiters->registry->handle, context);
        if (pass_on)
            (void)cpi_barrier(waiters->registry);
    } while (pass_on && cpi_reclaim_has_any(waiters->registry));
}

bool cpi_waiters_serve(struct cpi_waiters *waiters, void *slot, const struct cpi_waiter *finder)
{
    struct cpi_queue *queue = &waiters->queue;
    struct cpi_waiter *waiter = NULL;

    cpi_mutex_lock(&waiters->lock);
    if (cpi_queue_says(queue, CPI_QUEUE_STARVES) && queue->first != finder) {
        waiter = cpi_queue_serve(queue, slot);
        cpi_queue_starve(queue, cpi_os_now());
        wake_waiter(waiter);
    }
    cpi_mutex_unlock(&waiters->lock);
    return waiter != NULL;
}

void cpi_waiters_came(struct cpi_waiters *waiters)
{
    if (CPI_UNLIKELY(cpi_queue_is_asked(&waiters->queue, cpi_has_barrier())) &&
        cpi_reclaim_left(waiters->registry) != 0)
        cpi_waiters_call(waiters);
}

CPI_COLD void cpi_waiters_delay(struct cpi_waiters *waiters)
{
    if (cpi_load(&waiters->delayed, relaxed)) /* [late] */
        return;
    cpi_mutex_lock(&waiters->lock);
    cpi_store(&waiters->delayed, true, relaxed); /* [late] */
    for (struct cpi_waiter *waiter = waiters->queue.first; waiter != NULL; waiter = waiter->next)
        if (waiter->asleep)
            wake_waiter(waiter);
    cpi_mutex_unlock(&waiters->lock);
}

size_t cpi_waiters_dismiss(struct cpi_waiters *waiters, bool close)
{
    size_t woken = 0;

    cpi_mutex_lock(&waiters->lock);
    waiters->closed = waiters->closed || close;
    waiters->dismissals++;
    for (struct cpi_waiter *waiter = waiters->queue.first; waiter != NULL; waiter = waiter->next) {
        if (waiter != &waiters->bell) {
            wake_waiter(waiter);
            woken++;
        }
    }
    cpi_mutex_unlock(&waiters->lock);
    return woken;
}

/* --- Sleeping --- */

bool cpi_sleeper_is_dismissed(const struct cpi_waiters *waiters, const struct cpi_sleeper *self)
{
    return waiters->closed || waiters->dismissals != self->dismissals;
}

void *cpi_sleeper_keep(struct cpi_waiters *waiters, const struct cpi_sleeper *self, void *slot)
{
    return slot != NULL && cpi_waiters_hand_over(waiters, slot, &self->waiter) ? NULL : slot;
}

/* Sleeps until the waiter is served, or called (unless it naps), or the time has come, or it
 * starves, because the called waiter may be held up.  Then returns a slot that was handed over or
 * that is in the depot, or NULL. */
static void *rest_until(struct cpi_waiters *waiters, struct cpi_sleeper *self, uint64_t end,
                        bool naps)
{
    const struct cpi_registry *registry = waiters->registry;
    const struct cpi_waiter *waiter = &self->waiter;
    uint64_t now = cpi_os_now();
    uint64_t untold = now + CPI_UNTOLD_SLEEP;

    if (now < waiter->due)
        end = cpi_earlier(end, waiter->due);
    cpi_mutex_lock(&waiters->lock);
    for (;; now = cpi_os_now()) {
        if (now >= waiter->due)
            cpi_queue_starve(&waiters->queue, now);
        if (cpi_load(&waiters->delayed, relaxed)) /* [late] */
            end = cpi_earlier(end, untold);
        if (waiter->slot != NULL || now >= end || cpi_sleeper_is_dismissed(waiters, self) ||
            (!naps && waiter->epoch != self->vain))
            break;
        CPI_ASSERT(!waiter->asleep);
        if (!self->slept)
            cpi_fetch_add(&waiters->waits, 1u, relaxed); /* [tally] */
        self->slept = true;
        self->waiter.asleep = true;
        cpi_condition_wait(&self->woken, &waiters->lock, end);
        self->waiter.asleep = false;
    }
    self->epoch = waiter->epoch;
    cpi_mutex_unlock(&waiters->lock);
    if (waiter->slot != NULL)
        return waiter->slot;
    return cpi_sleeper_keep(waiters, self, cpi_take_uncached(registry->slab, registry->depot));
}

/* If a slot is freed soon, neither the waiter nor the freeing thread pays for a system call. */
static void linger_awhile(const struct cpi_waiters *waiters, const struct cpi_sleeper *self)
{
    const struct cpi_queue *queue = &waiters->queue;
    uint64_t end = cpi_earlier(self->waiter.due, self->deadline);
    unsigned times = 0;

    while ((cpi_load(&queue->word, relaxed) & CPI_QUEUE_ASKS) != 0 && /* [hint] */
           times < CPI_LINGER && cpi_os_now() < end)
        cpi_os_back_off(times++);
}

/* After a call in vain, the waiter naps (doc/CONCURRENCY.md 7.1). */
void *cpi_sleeper_sleep(struct cpi_waiters *waiters, struct cpi_sleeper *self)
{
    uint64_t end = self->deadline;
    void *slot;

    linger_awhile(waiters, self);
    if (self->alone_nap != 0)
        end = cpi_earlier(end, cpi_os_now() + self->alone_nap);
    else if ((cpi_reclaim_left(waiters->registry) & CPI_LEFT_MORE) != 0)
        end = cpi_earlier(end, cpi_os_now() + CPI_UNTOLD_SLEEP);
    slot = rest_until(waiters, self, end, false);
    if (slot == NULL && self->epoch != self->vain) {
        end = cpi_earlier(self->deadline, cpi_os_now() + self->nap);
        slot = rest_until(waiters, self, end, true);
        self->nap = cpi_earlier(2 * self->nap, CPI_LONGEST_NAP);
    }
    return slot;
}

bool cpi_sleeper_init(struct cpi_sleeper *self, uint64_t deadline)
{
    *self = (struct cpi_sleeper){.deadline = deadline, .nap = CPI_NAP};
    return cpi_condition_init(&self->woken);
}

void cpi_sleeper_join(struct cpi_waiters *waiters, struct cpi_sleeper *self)
{
    cpi_mutex_lock(&waiters->lock);
    self->dismissals = waiters->dismissals;
    cpi_queue_join(&waiters->queue, &self->waiter, cpi_os_now() + waiters->starving_after);
    cpi_mutex_unlock(&waiters->lock);
}

bool cpi_sleeper_leave(struct cpi_waiters *waiters, const struct cpi_sleeper *self)
{
    bool pass_on;

    cpi_mutex_lock(&waiters->lock);
    pass_on = cpi_queue_leave(&waiters->queue, &self->waiter, self->vain);
    cpi_queue_starve(&waiters->queue, cpi_os_now());
    cpi_mutex_unlock(&waiters->lock);
    return pass_on;
}

/* --- Notices for event loops: the bell, which does not sleep (doc/CONCURRENCY.md 7.1) --- */

void cpi_notice_announce(struct cpi_waiters *waiters)
{
    cpi_mutex_lock(&waiters->lock);
    if (!waiters->bell_waits) {
        waiters->bell_begun = cpi_reclaim_begin(waiters->registry);
        cpi_queue_join(&waiters->queue, &waiters->bell, UINT64_MAX);
    }
    waiters->bell_waits = true;
    cpi_queue_announce(&waiters->queue, &waiters->bell);
    cpi_mutex_unlock(&waiters->lock);
}

bool cpi_notice_leave(struct cpi_waiters *waiters, bool called)
{
    struct cpi_waiter *bell = &waiters->bell;
    bool pass_on = cpi_queue_leave(&waiters->queue, bell, bell->epoch - (called ? 1u : 0u));

    waiters->bell_waits = false;
    waiters->bell_owed = false;
    cpi_queue_starve(&waiters->queue, cpi_os_now());
    cpi_reclaim_end(waiters->registry, waiters->bell_begun);
    return pass_on;
}

/* If the search has found a slot and no caller is owed a notice, the bell leaves before anybody can
 * call it: the caller may hold a lock that `ready` takes.  A fork makes the bell leave, too. */
bool cpi_notice_conclude(struct cpi_waiters *waiters, bool found)
{
    bool done;

    cpi_mutex_lock(&waiters->lock);
    if (!found)
        waiters->bell_owed = waiters->bell_waits;
    else if (waiters->bell_waits && !waiters->bell_owed)
        (void)cpi_notice_leave(waiters, false);
    done = found || waiters->bell_waits;
    cpi_mutex_unlock(&waiters->lock);
    return done;
}

/* --- The life of a pool, the end of a thread, and fork --- */

/* Nobody waits: at first, and in the child of a fork.  The callback and the dismissals are kept. */
CPI_COLD static void renew_waiters(struct cpi_waiters *waiters)
{
    cpi_queue_init(&waiters->queue);
    cpi_mutex_init(&waiters->lock);
    atomic_init(&waiters->waits, 0);
    waiters->bell_waits = false;
    waiters->bell_owed = false;
    waiters->starving_after = CPI_STARVING_AFTER;
}

CPI_COLD void cpi_waiters_init(struct cpi_waiters *waiters, struct cpi_registry *registry)
{
    waiters->registry = registry;
    registry->waiters = waiters;
    renew_waiters(waiters);
}

/* Others may be waiting for the slots in its caches. */
CPI_COLD void cpi_waiters_thread_ended(struct cpi_thread *thread)
{
    struct cpi_registry *registry;

    while ((registry = cpi_registry_leave(thread)) != NULL)
        cpi_waiters_came(registry->waiters);
}

CPI_COLD void cpi_waiters_fork_done(void)
{
    struct cpi_registry *registry = NULL;

    while ((registry = cpi_registry_next(registry)) != NULL) {
        cpi_registry_mend(registry);
        renew_waiters(registry->waiters);
    }
}
