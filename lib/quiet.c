/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quiet.c - quiet scopes.
 */
#include "quiet.h"

#include <string.h>

#include "error.h"
#include "structs.h"
#include "thread.h"

#define CPI_TRAPS \
    (CPOOL_TRAP_GROWTHS | CPOOL_TRAP_SYSTEM_CALLS | CPOOL_TRAP_FRESH_SLOTS | CPOOL_TRAP_EXCHANGES)

CPI_INITIAL_EXEC _Thread_local bool cpi_quiet_on;

CPI_COLD void cpi_quiet_count(enum cpi_noise noise, uint64_t times)
{
    struct cpi_thread *thread = cpi_thread_known();

    if (thread == NULL) /* it is about to end */
        return;
    thread->quiet.counts[noise] += times;
    thread->quiet.noted |= 1u << noise;
}

/*
 * The scope is suspended while the handler runs, because the handler's actions are no
 * part of the scope's, and would call the handler again.  A handler that does not
 * return leaves the scope suspended until the next begin.
 */
static void report_noted(struct cpi_thread *thread, const char *function)
{
    static const char *const names[CPI_NOISES] = {"growth", "system call", "fresh slot",
                                                  "exchange"};
    unsigned noted = thread->quiet.noted & thread->quiet.traps;
    unsigned noise;

    thread->quiet.noted = 0;
    cpi_quiet_on = false;
    for (noise = 0; noise < CPI_NOISES; noise++) {
        if ((noted & 1u << noise) != 0) {
            cpool_error_t error;

            memset(&error, 0, sizeof error);
            error.code = CPOOL_ENOTQUIET;
            error.function = function;
            error.name = "";
            cpi_report(&error, "%s: %s: %s", function, cpool_strerror(error.code), names[noise]);
        }
    }
    if (thread->quiet.traps != 0) /* the handler has not ended the scope */
        cpi_quiet_on = true;
}

CPI_COLD void cpi_quiet_trap(const char *function)
{
    struct cpi_thread *thread = cpi_thread_known();

    if (thread != NULL && (thread->quiet.noted & thread->quiet.traps) != 0)
        report_noted(thread, function);
}

int cpool_quiet_begin(unsigned traps)
{
    struct cpi_thread *thread;

    if ((traps & ~CPI_TRAPS) != 0)
        return CPOOL_EFLAGS;
    if (!cpi_thread_started())
        return CPOOL_EPOOL;
    thread = cpi_thread_self();
    if (thread == NULL)
        return CPOOL_ENOMEM;
    memset(&thread->quiet, 0, sizeof thread->quiet);
    thread->quiet.traps = traps;
    cpi_quiet_on = true;
    return 0;
}

int cpool_quiet_end(cpool_quiet_t *counts)
{
    struct cpi_thread *thread = cpi_thread_known();
    cpool_quiet_t known = CPOOL_QUIET_INIT;

    if (counts == NULL)
        return CPOOL_ENULL;
    if (cpi_struct_check(counts) != 0)
        return CPOOL_ESTRUCT;
    if (thread != NULL) {
        cpi_quiet_on = false;
        thread->quiet.traps = 0;
        known.growths = thread->quiet.counts[CPI_NOISE_GROWTH];
        known.system_calls = thread->quiet.counts[CPI_NOISE_SYSTEM_CALL];
        known.fresh_slots = thread->quiet.counts[CPI_NOISE_FRESH];
        known.exchanges = thread->quiet.counts[CPI_NOISE_EXCHANGE];
    }
    cpi_struct_write(counts, &known, sizeof known);
    return 0;
}
