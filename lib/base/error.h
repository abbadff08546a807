/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.h - the one reporter of callers' mistakes, and text that is put together in a buffer.
 */
#ifndef CPI_ERROR_H
#define CPI_ERROR_H

#include <stddef.h>

#include <cpool.h>

#include "base/compiler.h"

/* Longest report, bytes with its end.  Longer ones are cut. */
#define CPI_REPORT_MAX 512

/*
 * process/handler.c.  Fills in error->text from the format, hands the report to the handler, and
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

/* Always ends with a zero byte inside the buffer. */
struct cpi_text {
    char *start;
    size_t size;   /* bytes of the buffer, 1 or more */
    size_t length; /* bytes used, without the end */
};

void cpi_text_init(struct cpi_text *text, char *buffer, size_t size);

/* Appends a piece, as printf writes it.  The text is cut where the buffer ends.  Allocates
 * nothing. */
CPI_PRINTF(2, 3) void cpi_text_add(struct cpi_text *text, const char *format, ...);

/* Copies a name, or none: NULL, as far as it fits.  What a terminal or JSON could take for more
 * than a name becomes '?': bytes that are not printable ASCII, quotes and backslashes. */
void cpi_text_copy(char *copy, size_t size, const char *name);

/* The end of a noun behind this number. */
#define CPI_PLURAL(number) ((number) == 1 ? "" : "s")

/* Receives the lines of a list, one by one, each with its end. */
typedef void cpi_line_sink(void *context, const char *line, size_t length);

#endif /* CPI_ERROR_H */
