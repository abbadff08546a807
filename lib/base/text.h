/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.h - text that is put together piece by piece in a buffer.
 *
 * Includes compiler.h.
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

/* Copies a text, or none: NULL.  One that does not fit is cut before a character of several
 * bytes, not within, or anywhere if it is not UTF-8.  size: bytes of the copy, more than 4. */
void cpi_text_copy(char *copy, size_t size, const char *text);

/* Bytes of the UTF-8 character that begins here, or 0 if none does. */
size_t cpi_text_character(const char *text);

/* Bytes that a pool's name takes when all of its bytes are escaped. */
#define CPI_SHOWN_SIZE ((size_t)4 * 31 + 1)

/*
 * A name as a terminal may show it: control characters, and bytes that are no UTF-8, become
 * their number, as \x1b.  CPI_SHOWN has a buffer of its own, which ends with the block.
 */
const char *cpi_text_show(char shown[CPI_SHOWN_SIZE], const char *name);
#define CPI_SHOWN(name) cpi_text_show((char[CPI_SHOWN_SIZE]){0}, name)

/* The end of a noun behind this number. */
#define CPI_PLURAL(number) ((number) == 1 ? "" : "s")

/* Receives the lines of a list, one by one, each with its end. */
typedef void cpi_line_sink(void *context, const char *line, size_t length);

#endif /* CPI_TEXT_H */
