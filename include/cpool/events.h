/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/events.h - waiting for slots in event loops, and the end of waiting.
 *
 * OVERVIEW
 *
 * A thread that serves many connections must not sleep in cpool_alloc_wait.  It asks for a
 * slot, and where there is none, for a notice as soon as there may be one:
 *
 *     static int wakeup;                          eventfd(0, EFD_NONBLOCK), in the epoll set
 *
 *     static void wake(cpool_t *pool, void *fd)
 *     {
 *         const uint64_t one = 1;
 *         int kept = errno;
 *
 *         (void)!write(*(int *)fd, &one, sizeof one);
 *         errno = kept;                            the thread that frees keeps its own
 *     }
 *     ...
 *     cpool_set_ready(buffers, wake, &wakeup);
 *     ...
 *     buffer = cpool_alloc_or_notify(buffers);
 *     if (buffer == NULL)
 *         ... stop reading; go on with it when `wakeup` is readable
 *
 * A notice tells that a slot was freed, not that it is still free.  The loop reads the
 * eventfd and asks again.
 *
 * NOTES
 *
 * The pool is created with CPOOL_WAITABLE.  One notice follows one or more calls of
 * cpool_alloc_or_notify that returned NULL, so a slot that is freed between such a call and
 * the sleep of the loop is never missed.  The notice stands in the queue of the pool's
 * waiters: threads in cpool_alloc_wait that came earlier are called earlier.  Where the
 * operating system has refused memory, no notice comes when it would grant some again.
 *
 * Reference: the queue is an event count, as the threads' waiting is (cpool_wait).
 */
#ifndef CPOOL_EVENTS_H
#define CPOOL_EVENTS_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Notices instead of waiting (cpool_events.3) ----------------------------
 */

/* Called by the thread that made a slot free, with that pool and the context of
 * cpool_set_ready.  A thread in cpool_alloc_or_notify calls it only where another call has
 * returned NULL before.  It must not call into the pool, nor block, nor throw.  Signals may be
 * blocked in it, also for a thread that it creates. */
typedef void (*cpool_ready_t)(cpool_t *pool, void *context);

/*
 * cpool_set_ready - chooses the function that a pool calls as a notice.
 *
 * pool      created with CPOOL_WAITABLE
 * ready     called once after cpool_alloc_or_notify has returned NULL, when a slot has
 *           become free.  NULL: nobody is notified
 * context   passed to it as it is
 *
 * Returns 0.  CPOOL_EPOOL or CPOOL_EWAITABLE after that was reported.
 * Any thread.  It may block.  A notice that is under way may still reach the former one.
 */
CPOOL_API int cpool_set_ready(cpool_t *pool, cpool_ready_t ready, void *context);

/*
 * cpool_alloc_or_notify - cpool_alloc that asks for a notice where there is no slot.
 *
 * Returns the slot, or NULL.  After NULL the function of cpool_set_ready is called once,
 * as soon as a slot has become free: one that the call itself could not have found.  After
 * a reported error, CPOOL_EPOOL or CPOOL_EWAITABLE, no notice follows.
 *
 * A notice may come although nobody needs it any more, and several threads that got NULL
 * share one.  In the child of a fork nobody has asked: a loop that waits for a notice there
 * calls this function again.
 * Any thread.  It may block for as long as another one holds the waiters' lock, and does
 * not wait for slots.
 */
CPOOL_API void *cpool_alloc_or_notify(cpool_t *pool) CPOOL_MUST_USE_;

/*
 * cpool_wake_all - ends all waiting for slots, for a shutdown.
 *
 * closed   true: from now on cpool_alloc_wait does not wait, so that a thread which comes
 *          too late to be woken does not sleep.  false: later threads wait (again)
 *
 * Threads in cpool_alloc_wait look for a slot once more and return, most with NULL.  Slots
 * are allocated and freed as before.
 *
 * Returns how many threads were waiting, or 0 after CPOOL_EPOOL or CPOOL_EWAITABLE was
 * reported.
 * Any thread.  It may block.
 */
CPOOL_API size_t cpool_wake_all(cpool_t *pool, bool closed);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_EVENTS_H */
