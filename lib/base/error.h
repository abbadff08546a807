/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.h - reports of callers' mistakes, and text that is built in a buffer.
 */
#ifndef CPI_ERROR_H
#define CPI_ERROR_H

#include <cpool/client.h> /* cpool_client_report */

#include "base/compiler.h"

/* The size of the longest report, with its terminating zero byte.  Longer ones are cut. */
#define CPI_REPORT_MAX 512

/* Writes "cpool: " and one line to standard error, cut to CPI_REPORT_MAX.  Allocates nothing.  As
 * async-signal-safe as vsnprintf is. */
CPI_COLD CPI_PRINTF(1, 2) void cpi_tell(const char *format, ...);

/* Writes to standard error directly, without stdio.  Async-signal-safe. */
void cpi_write_error(const char *text, size_t length);

/* Text in a buffer.  It always ends with a zero byte. */
struct cpi_text {
    char *start;
    size_t size;   /* bytes of the buffer, at least 1 */
    size_t length; /* bytes used, without the zero byte */
};

void cpi_text_init(struct cpi_text *text, char *buffer, size_t size);

/* Appends formatted text, cut where the buffer ends.  Allocates nothing. */
CPI_PRINTF(2, 3) void cpi_text_add(struct cpi_text *text, const char *format, ...);

/* Copies a name, cut to `size`; NULL counts as "".  Characters that could confuse a terminal or
 * JSON become '?': everything but printable ASCII, quotes and backslashes. */
void cpi_text_copy(char *copy, size_t size, const char *name);

/* The plural ending of a noun that follows this number. */
#define CPI_PLURAL(number) ((number) == 1 ? "" : "s")

#endif /* CPI_ERROR_H */
