/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place.h - places for operations without a cache.
 *
 * Includes depot.h, thread.h (place.c: also os.h).
 *
 *   at:  | holder, turns, counters | holder, ... | ... | the last one |
 *          thread A                  0: free             for enter alone
 *
 * A thread that uses the depot without a cache holds a place meanwhile.  The holder is the
 * operation's mark (mark.h), and the counters have one writer at a time.  The places bound
 * how many magazines such operations have in their hands (depot.h).
 */
#ifndef CPI_PLACE_H
#define CPI_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "host/thread.h"
#include "store/depot.h"

struct cpi_uncached {
    _Alignas(CPI_LINE) _Atomic uintptr_t holder; /* the thread's token, or 0 if free */
    _Atomic uint32_t turns;                      /* holders that have left */
    struct cpi_counters counters;
};

struct cpi_places {
    struct cpi_uncached *at; /* constant: all zero at first */
    uint32_t count;          /* constant: all places */
    _Atomic uint32_t used;   /* places that ever had a holder: the first so many */
};

/*
 * Brackets an operation without a cache: enter returns a place, which is the thread's until it
 * leaves.  enter waits for a free place.  Callers that hold the lock must use try_enter, which
 * returns NULL instead: the holder of a place may be about to fork, which needs the lock.  Any
 * thread.
 */
struct cpi_uncached *cpi_place_enter(struct cpi_places *places);
struct cpi_uncached *cpi_place_try_enter(struct cpi_places *places);
void cpi_place_leave(struct cpi_places *places, struct cpi_uncached *uncached);

/* How many places have ever been used.  Any thread, wait-free. */
size_t cpi_place_used(const struct cpi_places *places);

/* Whether another thread than the caller holds the place, and how many holders have left it.
 * Any thread, wait-free. */
bool cpi_place_is_held(const struct cpi_uncached *uncached);
uint32_t cpi_place_turns(const struct cpi_uncached *uncached);

/* Frees a place, and nothing else. */
void cpi_place_vacate(struct cpi_uncached *uncached);

/* In the child of a fork: frees the places of threads that vanished.  Returns true if there
 * were any. */
bool cpi_place_forked(struct cpi_places *places);

#endif /* CPI_PLACE_H */
