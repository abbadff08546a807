/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notices.c - notices for event loops.
 *
 * The bell of a pool is a waiter that does not sleep: called, it leaves at once instead of looking
 * (cpi_waiters_call).  It joins the queue and announces itself as a thread does, and a look
 * follows.  So a slot that is freed after the look calls it.
 */
#include "host/os.h"
#include "wait/waiters.h"

void cpi_notice_announce(struct cpi_waiters *waiters)
{
    cpi_mutex_lock(&waiters->lock);
    if (!waiters->bell_waits) {
        waiters->bell_begun = cpi_reclaim_begin(waiters->registry);
        cpi_queue_join(&waiters->queue, &waiters->bell, UINT64_MAX);
    }
    waiters->bell_waits = true;
    waiters->bell_looks++;
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

/* Where the look has found a slot, and no other call needs the bell, the bell leaves before
 * anything can call it: the caller may hold a lock that `ready` takes.  In the child of a fork
 * inside the look nothing is announced any more. */
bool cpi_notice_conclude(struct cpi_waiters *waiters, bool found)
{
    bool done;

    cpi_mutex_lock(&waiters->lock);
    if (waiters->bell_looks > 0)
        waiters->bell_looks--;
    if (!found)
        waiters->bell_owed = waiters->bell_waits;
    else if (waiters->bell_waits && !waiters->bell_owed && waiters->bell_looks == 0)
        (void)cpi_notice_leave(waiters, false);
    done = found || waiters->bell_waits;
    cpi_mutex_unlock(&waiters->lock);
    return done;
}
