/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/events.h - waiting for slots in event loops, and the end of waiting.
 *
 * OVERVIEW
 *
 * A thread that serves many connections must not sleep in cpool_alloc_wait.  It requests a slot,
 * and if there is none, a notice as soon as there may be one:
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
 * A notice means that a slot was freed, not that it is still free.  The loop reads the eventfd and
 * tries again.
 *
 * NOTES
 *
 * One notice follows one or more calls of cpool_alloc_or_notify that returned NULL, so the loop
 * never misses a slot freed between such a call and its sleep.  Until then every alloc and free of
 * the pool is a call, as while threads wait.  The notice waits its turn in the queue of the pool's
 * waiters: threads that entered cpool_alloc_wait earlier are woken earlier.  After the operating
 * system has refused memory, no notice tells when it would grant some again.
 *
 * The queue is an event count, which threads in cpool_alloc_wait also use.
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

/* Called by the thread that freed a slot, with its pool and the context of cpool_set_ready.  A
 * thread in cpool_alloc_or_notify calls it only if an earlier call returned NULL.  It must not call
 * into the pool, block or throw. */
typedef void (*cpool_ready_t)(cpool_t *pool, void *context);

/*
 * cpool_set_ready - sets the function that a pool calls as a notice.
 *
 * ready     called once after cpool_alloc_or_notify has returned NULL, when a slot has
 *           become free.  NULL: nobody is notified
 * context   passed to it
 *
 * Returns 0, or CPOOL_EPOOL, which is reported.  Any thread.  It may block.  A notice under way may
 * still reach the previous function.
 */
CPOOL_API int cpool_set_ready(cpool_t *pool, cpool_ready_t ready, void *context);

/*
 * cpool_alloc_or_notify - like cpool_alloc, but requests a notice if there is no slot.
 *
 * Returns the slot, or NULL.  After NULL the function of cpool_set_ready is called once,
 * as soon as a slot becomes free that the call itself could not have found.  After
 * CPOOL_EPOOL, which is reported, no notice follows.
 *
 * Notices can be spurious, and several threads that got NULL share one.  A fork drops all requests
 * in the child: a loop that waits for a notice there calls this function again.  Any thread.  It
 * does not wait for slots.  It may block while another thread holds the waiters' lock.  Before it
 * returns NULL it waits for a thread that was preempted in the middle of an alloc or a free of the
 * pool, however long: that thread could free a slot without a notice.
 */
CPOOL_API void *cpool_alloc_or_notify(cpool_t *pool) CPOOL_MUST_USE_;

/*
 * cpool_wake_all - ends all waiting for slots, for a shutdown.
 *
 * closed true: from now on cpool_alloc_wait does not wait, so that a thread that comes too late to
 * be woken does not sleep. false: later threads wait (again)
 *
 * Threads in cpool_alloc_wait search for a slot once more and return, most with NULL.  Slots are
 * allocated and freed as before.
 *
 * Returns the number of threads that were waiting, or 0 after CPOOL_EPOOL was reported.  Any
 * thread.  It may block.
 */
CPOOL_API size_t cpool_wake_all(cpool_t *pool, bool closed);

/*
 * CPOOL_DECLARE_NOTICES - defines the function of a typed pool (CPOOL_DECLARE) for notices, which
 * is inline.
 *
 * At file scope, after the declaration of the pool:
 *
 *     type *<name>_alloc_or_notify(void);   as cpool_alloc_or_notify
 */
#define CPOOL_DECLARE_NOTICES(name, type)                                              \
    /* type *<name>_alloc_or_notify(void)   takes a slot, or requests a notice and returns NULL */ \
    CPOOL_TYPED_TAKE_(name, type, name##_alloc_or_notify, (void),                      \
                      name##_pool() != NULL ? cpool_alloc_or_notify(name##_pool()) : NULL) \
    CPOOL_TYPED_END_

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_EVENTS_H */
