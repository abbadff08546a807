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
 * cpool_alloc_wait - cpool_alloc that sleeps until a slot is free.
 *
 * pool      created with CPOOL_WAITABLE
 * timeout   the longest to wait, relative, by the monotonic clock.  NULL waits
 *           for ever.  Its members are added, whatever their signs and sizes.  A sum of
 *           zero or less does not wait
 *
 * A slot that is freed may go to a thread that runs before the one that was woken for
 * it wakes up.  A thread that has waited for a millisecond is not overtaken any more
 * while it sleeps.  Slots that are freed then are handed to the waiting threads, past
 * all caches, in the order in which they came.
 *
 * When memory is refused, it is tried again a hundred times a second.  When the system
 * refuses the condition variable that a sleep needs, cpool_alloc_wait looks as cpool_alloc
 * does, and does not wait.  A thread that waits for slots which it holds itself waits for
 * ever.
 *
 * Returns the slot, or NULL when the time is up, cpool_wake_all ends the waiting
 * (<cpool/events.h>), or the thread cannot sleep.  NULL after CPOOL_EWAITABLE was reported
 * for another kind of pool.
 * Any thread.  It blocks, but beside a trim or shrink for no longer than the timeout.
 * Not a point of cancellation.
 */
CPOOL_API void *cpool_alloc_wait(cpool_t *pool, const struct timespec *timeout) CPOOL_MUST_USE_
    CPOOL_FREED_BY_(cpool_depot_free);

/*
 * cpool_alloc_or_help - cpool_alloc that does other work while none is free.
 *
 * help      called with arg whenever no slot is to be had.  It does a piece of work,
 *           which may free slots, and returns true, or false if there is no work
 *
 * A worker that runs other jobs until it has room for its own:
 *
 *     static bool run_one_job(void *arg)
 *     {
 *         struct job *job = next_job(arg);
 *
 *         if (job != NULL)
 *             run(arg, job);               frees it
 *         return job != NULL;
 *     }
 *     ...
 *     job = cpool_alloc_or_help(jobs, run_one_job, worker);
 *
 * Returns the slot, or NULL once help has returned false and still none is free.  Then
 * the jobs that are live wait for the one that could not be made: their graph needs more
 * slots than there are.  Run that job in place, as a call, or draw a ticket for a whole
 * graph before it begins.
 * Any thread, any pool.  It takes as long as help takes.
 */
CPOOL_API void *cpool_alloc_or_help(cpool_t *pool, bool (*help)(void *arg), void *arg)
    CPOOL_MUST_USE_ CPOOL_NONNULL_(2) CPOOL_FREED_BY_(cpool_depot_free);

#endif /* CPOOL_WAIT_H */
