/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quiet.h - counting what could hold a thread up.
 *
 * Floor 1.  Includes compiler.h.
 *
 * Events are noted in their place, system calls in os_posix.c and a waiter's sleep in
 * pool_wait.c.  The public function that was under way reports the traps of a scope
 * later, when every structure is in a good state again.
 */
#ifndef CPI_QUIET_H
#define CPI_QUIET_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

/* Each is the number of a counter.  1 << it is its CPOOL_TRAP_ flag. */
enum cpi_noise { CPI_NOISE_GROWTH, CPI_NOISE_SYSTEM_CALL, CPI_NOISE_FRESH, CPI_NOISE_EXCHANGE };

/* Whether the calling thread is in a quiet scope, and not in its handler. */
extern CPI_INITIAL_EXEC _Thread_local bool cpi_quiet_on;

/* The parts of the two below for threads in a scope. */
void cpi_quiet_count(enum cpi_noise noise, uint64_t times);
void cpi_quiet_trap(const char *function);

/* Counts what happens.  Wait-free. */
static inline void cpi_quiet_note(enum cpi_noise noise, uint64_t times)
{
    if (CPI_UNLIKELY(cpi_quiet_on))
        cpi_quiet_count(noise, times);
}

/* Reports what was noted and is trapped, on behalf of the public `function`. */
static inline void cpi_quiet_report(const char *function)
{
    if (CPI_UNLIKELY(cpi_quiet_on))
        cpi_quiet_trap(function);
}

#endif /* CPI_QUIET_H */
