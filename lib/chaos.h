/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chaos.h - chance in the slow paths of a pool, for the sake of tests.
 *
 * Floor 1.  Includes atomic.h, compiler.h.
 *
 * A pool with CPOOL_CHAOS has one of these.  Its slow paths come by here between the look
 * at a shared word and the compare-and-swap, and wherever they hold something that no
 * other thread sees.  The draw decides whether the thread goes on, spins, gives way or
 * sleeps, and whether the compare-and-swap is to fail.  Other pools have a NULL pointer in
 * this place.
 *
 * The draws of a pool are one sequence, which its seed determines.  A program of one
 * thread gets the same sequence in each run.
 */
#ifndef CPI_CHAOS_H
#define CPI_CHAOS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler.h"

struct cpi_chaos {
    _Atomic uint64_t state; /* advances with each draw */
};

/* Places of the quarantine that delays the reuse of slots, at least. */
#define CPI_CHAOS_QUARANTINE ((size_t)16)

/* The seeds that can be asked for: 1 up to this. */
#define CPI_CHAOS_SEED_MAX ((size_t)99999999)

/* The seed that all pools of this process derive theirs from.  The first call draws one
 * if `asked` is 0, and writes it to standard error.  Any thread. */
uint64_t cpi_chaos_seed(size_t asked);

/* A number that depends on these two alone. */
uint64_t cpi_chaos_mix(uint64_t seed, uint64_t number);

/* Begins the sequence of the process's next pool. */
void cpi_chaos_begin(struct cpi_chaos *chaos, uint64_t seed);

/* The next number of the sequence.  Any thread, wait-free, async-signal-safe. */
uint64_t cpi_chaos_draw(struct cpi_chaos *chaos);

/* The part of the next one for pools with chaos.  Any thread, async-signal-safe.  It may
 * sleep. */
bool cpi_chaos_disturb(struct cpi_chaos *chaos);

/* A step of a slow path.  Returns true if a compare-and-swap that follows is to fail. */
static inline bool cpi_chaos_step(struct cpi_chaos *chaos)
{
    return CPI_UNLIKELY(chaos != NULL) && cpi_chaos_disturb(chaos);
}

/* Returns true once in n times, and never without chaos.  Wait-free. */
static inline bool cpi_chaos_once_in(struct cpi_chaos *chaos, uint64_t n)
{
    return CPI_UNLIKELY(chaos != NULL) && cpi_chaos_draw(chaos) % n == 0;
}

/* One in so many requests for memory is refused, 0: none.  Set before the first pool. */
extern size_t cpi_chaos_refused_part;

/* Returns true if the next request for memory is to be refused.  Wait-free. */
bool cpi_chaos_draw_refusal(void);
static inline bool cpi_chaos_refuses(void)
{
    return CPI_UNLIKELY(cpi_chaos_refused_part != 0) && cpi_chaos_draw_refusal();
}

#endif /* CPI_CHAOS_H */
