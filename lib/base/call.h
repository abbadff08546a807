/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call.h - which public function a program has called, and where.
 *
 * Includes compiler.h.
 *
 * It is passed by value, in two registers, down to where a report or a record wants it.
 */
#ifndef CPI_CALL_H
#define CPI_CALL_H

#include "base/compiler.h"

struct cpi_call {
    const char *function; /* the public one's name */
    const void *site;     /* the address that it returns to */
};

/* In the public function itself. */
#define CPI_CALL(name) ((struct cpi_call){(name), CPI_CALLER()})

#endif /* CPI_CALL_H */
