/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * disturb.h - signals into running threads, wherever they happen to be.
 *
 * Includes worker.h.
 *
 * A disturbance has a thread of its own, which sends signals to random workers every few dozen
 * microseconds.  The handler stalls the worker between two instructions of whatever it is doing,
 * for example in the middle of a pop, or while it holds a magazine, for up to a few hundred
 * microseconds while the others go on.  That makes rare interleavings frequent (such as a pop that
 * is overtaken by pops and a push of the same magazine).
 *
 * ThreadSanitizer delivers signals only at calls into the C library, where stalls achieve nothing,
 * so crews are not stalled there.
 */
#ifndef STRESS_DISTURB_H
#define STRESS_DISTURB_H

#include "worker.h"

/* Starts a disturbance.  Only one at a time. */
void disturb_start(uint64_t seed);
void disturb_stop(void);

/* Between enter and leave the calling thread may be disturbed.  No signal arrives outside of them.
 * A second leave does nothing. */
void disturb_enter(struct worker *worker);
void disturb_leave(void);

/* In the child of a fork, before any other function of this file: forgets all listed threads. */
void disturb_in_child(void);

#endif /* STRESS_DISTURB_H */
