/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pauses.h - makes threads overtake each other in the middle of operations.
 *
 * Put before every source of the library, with the compiler's -include, so it
 * includes nothing.  Before an atomic operation the thread now and then gives the
 * processor away: else operations of some dozen nanoseconds would hardly ever
 * overlap, least of all where there are few processors.  The library's sources are
 * the shipped ones.
 */
#ifndef LINEAR_PAUSES_H
#define LINEAR_PAUSES_H

void pauses_point(void);

#define CPI_ATOMIC_POINT() pauses_point()

/* A burst is short. */
#define CPI_REVIEW_SWAPS 4u

#endif /* LINEAR_PAUSES_H */
