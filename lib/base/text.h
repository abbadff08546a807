/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.h - text that is put together piece by piece in a buffer.
 */
#ifndef CPI_TEXT_H
#define CPI_TEXT_H

#include <stddef.h>

#include "base/compiler.h"

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

#endif /* CPI_TEXT_H */
