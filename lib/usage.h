/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * usage.h - the peak and the average of the number of live slots.
 *
 * Floor 2.  Includes nothing of the library.
 *
 * Samples come from threads that exchange magazines.  Each needs a look at all caches,
 * therefore they are some time apart, and a thread that finds another one at it leaves
 * it alone.  Between two samples the number of live slots counts as half of both.
 */
#ifndef CPI_USAGE_H
#define CPI_USAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Between two samples, nanoseconds. */
#define CPI_SAMPLE_PERIOD 100000u

/* `now` is always the monotonic clock, nanoseconds. */
struct cpi_usage {
    _Atomic uint64_t due;  /* when the next sample is worth its cost */
    _Atomic uint32_t busy; /* 1 while a thread has the members below */
    uint64_t since;        /* when the figures began */
    uint64_t last;         /* when the last sample was taken */
    uint64_t live;         /* slots, then */
    uint64_t peak;         /* slots, in any sample */
    double area;           /* slots times nanoseconds, from `since` to `last` */
};

void cpi_usage_init(struct cpi_usage *usage, uint64_t now);

/* In the child of a fork, where the thread that was taking a sample is gone. */
void cpi_usage_forked(struct cpi_usage *usage);

/* Whether a sample is worth its cost.  Wait-free. */
bool cpi_usage_is_due(const struct cpi_usage *usage, uint64_t now);

/* Takes a sample, unless another thread is at it, and sets when the next is due.
 * Wait-free. */
void cpi_usage_note(struct cpi_usage *usage, uint64_t live, uint64_t now);

/* Takes a sample of the caller's own, and tells the figures.  Waits for a thread that is at it. */
void cpi_usage_read(struct cpi_usage *usage, uint64_t live, uint64_t now, uint64_t *peak,
                    uint64_t *average);

/* The same, but returns false if another thread is at it.  Wait-free. */
bool cpi_usage_try_read(struct cpi_usage *usage, uint64_t live, uint64_t now, uint64_t *peak,
                        uint64_t *average);

/* Begins anew, with this sample.  Waits as above. */
void cpi_usage_restart(struct cpi_usage *usage, uint64_t live, uint64_t now);

#endif /* CPI_USAGE_H */
