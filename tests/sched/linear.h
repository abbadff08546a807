/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linear.h - decides whether a history is linearizable.
 *
 * THE SPECIFICATION
 *
 * A pool is a set of free slots, and in the beginning all are free.  Its atomic steps:
 *
 *   take s    s is free, and from now on it is live
 *   give s    s is live, and from now on it is free
 *   dry       there is none to be had (below), and nothing changes
 *
 * An operation is made of steps, which it takes at instants of its own choice
 * between its call and its return, in any order but for the last:
 *
 *   alloc of one slot, or a bulk alloc       a `take` for each slot that came and,
 *                                            if fewer came than were wanted, `dry`
 *                                            after all of them
 *   free of one slot, or a bulk free         a `give` for each slot
 *   anything else                            none
 *
 * Bulk operations are so little atomic as their contract says: "less than n only
 * when the pool ran dry".
 *
 * `dry` is where a pool differs from a set.  By the contract of cpool_alloc none
 * can be had when "the capacity is live, or in the hands of threads inside the
 * library at this moment".  So it is allowed at an instant at which
 *
 *       live + what the other threads keep out of reach >= capacity
 *
 * and the slots that another thread keeps out of reach while it is inside the library are
 * `inside` slots, the magazines that an exchange can have in hand at once.  (The slots that
 * its operation itself takes or gives need no allowance: its steps may come as early, or
 * late, as suits.)  One that wants all or none, and fails, may have up to wanted - 1 slots
 * more in hand, also at the instant of its own `dry`.
 *
 * A history is linearizable if there is an order of all its steps, each at an
 * instant of its operation's, that the specification allows (M. P. Herlihy and
 * J. M. Wing, 1990).
 */
#ifndef SCHED_LINEAR_H
#define SCHED_LINEAR_H

#include <stdbool.h>

#include "history.h"

/* Indices, threads, and steps of operations that overlap, that can be dealt with. */
#define LINEAR_SLOTS_MAX 256
#define LINEAR_THREADS_MAX 16
#define LINEAR_STEPS_MAX 22

struct linear_specification {
    size_t capacity; /* slots that can be had by any mix of threads */
    size_t slots;    /* valid indices are below */
    size_t inside;   /* slots out of reach because of one thread inside the library */
};

/* Returns NULL if the history is linearizable.  Otherwise returns the first operation,
 * by returns, for which no order can be found for all steps that must have been taken
 * by its return.  (It is not always the one to blame.) */
const struct operation *linear_check(const struct linear_specification *specification,
                                     const struct history *history);

#endif /* SCHED_LINEAR_H */
