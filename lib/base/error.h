/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.h - the one reporter of callers' mistakes.
 */
#ifndef CPI_ERROR_H
#define CPI_ERROR_H

#include <cpool.h>

#include "base/compiler.h"

/* Longest report, bytes with its end.  Longer ones are cut. */
#define CPI_REPORT_MAX 512

/*
 * host/report.c.  Fills in error->text from the format, hands the report to the handler, and
 * returns if the handler does.  The caller has set the other members that it knows.  It must have
 * left every structure in a good state, because a handler may leave by longjmp or by an exception.
 *
 * Allocates nothing.  Takes the lock for a moment, if the thread has not got it.
 */
CPI_COLD CPI_PRINTF(2, 3) void cpi_report(cpool_error_t *error, const char *format, ...);

/* Writes one line to standard error, after "cpool: ", cut to CPI_REPORT_MAX.  Allocates
 * nothing.  Async-signal-safe as far as vsnprintf is. */
CPI_COLD CPI_PRINTF(1, 2) void cpi_tell(const char *format, ...);

/* Writes to standard error, past stdio.  Async-signal-safe. */
void cpi_write_error(const char *text, size_t length);

#endif /* CPI_ERROR_H */
