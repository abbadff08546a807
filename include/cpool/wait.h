/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/wait.h - waiting for a slot, notices for event loops, the end of waiting, and pressure.
 *
 * Included by <cpool.h>.  Never include it yourself.
 *
 * OVERVIEW
 *
 *     job = cpool_alloc_wait(jobs, NULL);          sleeps until a slot is free
 *     ...
 *     cpool_wait_close(jobs);                      for a shutdown: nobody waits any more
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
 * Returns the slot, or NULL if the time is up, or cpool_wait_close or cpool_wait_cancel
 * ends the waiting, or the thread cannot sleep, or after CPOOL_EPOOL was reported.  Any thread.
 * It blocks, but not longer than the timeout, unless a trim or shrink runs.  Not a cancellation
 * point.
 */
CPOOL_API void *cpool_alloc_wait(cpool_t *pool, const struct timespec *timeout) CPOOL_MUST_USE_
    CPOOL_FREED_BY_(cpool_free_uncached);

/*
 * ---- Notices instead of waiting (cpool_wait.3) ------------------------------
 */

/* Called by the thread that freed a slot, with its pool and the argument of cpool_set_ready.  A
 * thread in cpool_alloc_or_notify calls it only if an earlier call returned NULL.  It must not call
 * into the pool, block or throw. */
typedef void (*cpool_ready_t)(cpool_t *pool, void *arg);

/*
 * cpool_set_ready - sets the function that a pool calls as a notice.
 *
 * ready     called once after cpool_alloc_or_notify has returned NULL, when a slot has
 *           become free.  NULL: nobody is notified
 * arg       passed to it
 *
 * Returns 0, or CPOOL_EPOOL, which is reported.  Any thread.  It may block.  A notice under way may
 * still reach the previous function.
 */
CPOOL_API int cpool_set_ready(cpool_t *pool, cpool_ready_t ready, void *arg);

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
 * cpool_wait_close - ends all waiting for slots, for a shutdown.
 *
 * Threads in cpool_alloc_wait search for a slot once more and return, most with NULL.  From now on
 * cpool_alloc_wait does not wait, so that a thread that comes too late to be woken does not sleep.
 * Slots are allocated and freed as before.
 *
 * Returns the number of threads that were waiting, or 0 after CPOOL_EPOOL was reported.  Any
 * thread.  It may block.
 */
CPOOL_API size_t cpool_wait_close(cpool_t *pool);

/*
 * cpool_wait_open - lets threads wait again after cpool_wait_close.
 *
 * Any thread.  It may block.
 */
CPOOL_API void cpool_wait_open(cpool_t *pool);

/*
 * cpool_wait_cancel - like cpool_wait_close, but only for threads that wait now.
 */
CPOOL_API size_t cpool_wait_cancel(cpool_t *pool);

/*
 * ---- Pressure (cpool_wait.3) -------------------------------------------------
 */

/*
 * A mark, and what the pool calls there.
 *
 * The function is called by a thread whose alloc, of any kind, comes upon the mark, before it takes
 * its slot, and without a lock.  It may use any function, on this pool, too, but must not destroy
 * or reset it, or destroy the cache or end the frame that the alloc uses, and must return: not by
 * longjmp or an exception.  Slots that it frees are there for that alloc.
 */
typedef struct cpool_pressure {
    size_t slots; /* live ones, 1 or more.  0: there is no mark */
    void (*reached)(cpool_t *pool, size_t live, void *arg); /* `live` is their number now */
    void *arg; /* the user's */
} cpool_pressure_t;

/*
 * cpool_set_pressure - sets the mark at which a pool calls a function, before it runs dry.
 *
 *     cpool_set_pressure(orders, (cpool_pressure_t){ 900, turn_away, &shop });
 *
 * pressure   {0} for none
 *
 * The function is called once, by one thread, when that many slots are live.  It is called again
 * only after an alloc has found that at least an eighth of them were free again.  Frees do not call
 * it, and neither do pools whose capacity stays below the mark.
 *
 * Live slots are counted as in cpool_read_stats, at exchanges with the depot, and more often near
 * the mark.  So before a thread comes upon the mark, it may take as many slots beyond it as its
 * cache holds, or 32 without a cache.  An alloc that finds the pool dry counts, too.  Only an alloc
 * that calls the function, or arms the mark again, takes the library's lock for a moment.
 *
 * Returns the mark before, to set it again, or none after CPOOL_EPOOL was reported.  The slots of
 * objects, blocks of many sizes and lanes have no mark.  Any thread, while others use the pool,
 * which may still be about to call the function before, once.  It may block.
 */
CPOOL_API cpool_pressure_t cpool_set_pressure(cpool_t *pool, cpool_pressure_t pressure);

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

#endif /* CPOOL_WAIT_H */
