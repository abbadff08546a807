/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/wait.h - waiting for a slot.
 *
 * Included by <cpool.h>.  Never include it yourself.
 */
#ifndef CPOOL_WAIT_H
#define CPOOL_WAIT_H

#ifndef CPOOL_H
#error "include <cpool.h> instead of <cpool/wait.h>"
#endif

/*
 * ---- Waiting (cpool_wait.3) ------------------------------------------------
 */

/*
 * cpool_alloc_wait - like cpool_alloc, but sleeps until a slot is free.
 *
 * timeout   the longest time to wait, relative, by the monotonic clock.  NULL waits
 *           forever.  Its members are added, whatever their signs and sizes.  A sum of
 *           zero or less does not wait
 *
 * A running thread may take a freed slot before the thread woken for it.  But a thread that has
 * waited for a millisecond is no longer overtaken: slots freed from then on are handed directly to
 * the waiting threads, in the order of their arrival.
 *
 * While threads wait, every alloc and free of the pool is a call, and a free takes the waiters'
 * lock.
 *
 * If the operating system refuses memory, the thread tries again a hundred times a second.  If the
 * system refuses the condition variable that a sleep needs, this is cpool_alloc, without a wait.
 * Waiting for slots that you hold yourself deadlocks.
 *
 * Returns the slot, or NULL if the time is up, or cpool_wake_all ends the waiting
 * (<cpool/events.h>), or the thread cannot sleep, or after CPOOL_EPOOL was reported.  Any thread.
 * It blocks, but not longer than the timeout, unless a trim or shrink runs.  Not a cancellation
 * point.
 */
CPOOL_API void *cpool_alloc_wait(cpool_t *pool, const struct timespec *timeout) CPOOL_MUST_USE_
    CPOOL_FREED_BY_(cpool_depot_free);

#endif /* CPOOL_WAIT_H */
