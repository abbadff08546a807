/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * disturb.h - signals into running threads, wherever they happen to be.
 *
 * Includes worker.h.
 *
 * While a disturbance lasts a thread of its own sends signals to workers picked
 * at random, every few dozen microseconds.  The handler stalls the worker between
 * two instructions of whatever it was doing, in the middle of a pop, with a magazine
 * in its hands, for up to a few hundred microseconds while the others go on.  That
 * makes rare interleavings frequent (a pop that is overtaken by pops and a push of
 * the same magazine).
 *
 * ThreadSanitizer delivers signals at calls into the C library only, so there
 * stalling achieves nothing, and crews are not stalled.
 */
#ifndef STRESS_DISTURB_H
#define STRESS_DISTURB_H

#include "worker.h"

/* Starts a disturbance.  One at a time. */
void disturb_start(uint64_t seed);
void disturb_stop(void);

/* The calling thread may be disturbed from now on, and no more from now on.  No
 * signal arrives outside of these two.  To leave twice is to leave once. */
void disturb_enter(struct worker *worker);
void disturb_leave(void);

/* In a child of fork, before anything else here: nobody is listed any more. */
void disturb_in_child(void);

#endif /* STRESS_DISTURB_H */
