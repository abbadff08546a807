/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.h - text that is put together piece by piece in a buffer.
 *
 * Floor 0.  Includes compiler.h.
 */
#ifndef CPI_TEXT_H
#define CPI_TEXT_H

#include <stddef.h>

#include "compiler.h"

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

#endif /* CPI_TEXT_H */
