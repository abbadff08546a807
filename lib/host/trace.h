/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h - the thread and the place in the program that a call comes from.
 *
 * Includes text.h.
 */
#ifndef CPI_TRACE_H
#define CPI_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* The number by which the operating system and debuggers know the calling thread.
 * Async-signal-safe. */
uintptr_t cpi_trace_thread(void);

/* In the child of a fork: its only thread has another number. */
void cpi_trace_forked(void);

/*
 * Appends the place of a return address to a text: "function+0x12 (module+0x1234)", without the
 * function where its name is not exported, or the bare address where no module has it.  The
 * number after the module is one that addr2line takes for it, and lies in the call.
 */
void cpi_trace_name(struct cpi_text *text, uintptr_t address);

#endif /* CPI_TRACE_H */
