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
 *           without end.  Its members are added, whatever their signs and sizes.  A sum of
 *           zero or less does not wait
 *
 * A slot that is freed may go to a thread that runs before the one that was woken for
 * it wakes up.  A thread that has waited for a millisecond is not overtaken any more
 * while it sleeps.  Slots that are freed then are handed to the waiting threads, past
 * all caches, in the order in which they came.
 *
 * A block of the fallback (cpool_create.3) is taken before the thread sleeps.
 *
 * When memory is refused, it is tried again a hundred times a second.  When the system
 * refuses the condition variable that a sleep needs, cpool_alloc_wait looks as cpool_alloc
 * does, and does not wait.  A thread that waits for slots which it holds itself never
 * wakes up.
 *
 * Returns the slot, or NULL when the time is up, cpool_wake_all ends the waiting
 * (<cpool/events.h>), or the thread cannot sleep.  NULL after CPOOL_EWAITABLE was reported
 * for another kind of pool.
 * Any thread.  It blocks, but beside a trim or shrink for no longer than the timeout.
 * Not a point of cancellation.
 */
CPOOL_API void *cpool_alloc_wait(cpool_t *pool, const struct timespec *timeout) CPOOL_MUST_USE_
    CPOOL_FREED_BY_(cpool_depot_free);

#endif /* CPOOL_WAIT_H */
