/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools.h - requests to sanitizers and to Valgrind.
 *
 * `tools` is always the set of tools that a pool is announced to, found when it was created.
 * Functions ignore all others.  With -DCPI_TOOLS=0 the set is empty, so that the library's own
 * tests see pools as they are even if they run under a tool.
 */
#ifndef CPI_TOOLS_H
#define CPI_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

#ifndef CPI_TOOLS
#define CPI_TOOLS 1
#endif

#define CPI_TOOL_ASAN 0x1u
#define CPI_TOOL_MSAN 0x2u
#define CPI_TOOL_TSAN 0x4u
#define CPI_TOOL_MEMCHECK 0x8u

/* The tools that track single bytes. */
#define CPI_TOOLS_BYTES (CPI_TOOL_ASAN | CPI_TOOL_MSAN | CPI_TOOL_MEMCHECK)

/* The tools that this process runs under. */
unsigned cpi_tools_found(void);

/* The beginning and end of a pool of slots with `gap` bytes between them.  `pool` is any address
 * that identifies it.  In between nobody may touch its first `usable` bytes, except slots that are
 * taken. */
void cpi_tools_open(unsigned tools, const void *pool, void *from, size_t size, size_t usable,
                    size_t gap);
void cpi_tools_close(unsigned tools, const void *pool, void *from, size_t size, size_t usable);

/* Until the memory is removed again, blocks that only it points to do not count as leaks.  Needs no
 * `tools`. */
void cpi_tools_add_root(const void *from, size_t size);
void cpi_tools_remove_root(const void *from, size_t size);

/* A slot goes to a caller, or comes back.  Passes on both the ordering and the state of the
 * bytes. */
void cpi_tools_taken(unsigned tools, const void *pool, void *slot, size_t size);
void cpi_tools_given(unsigned tools, const void *pool, void *slot, size_t size);

/* The library has written this memory, or is about to call one of the program's functions with this
 * many arguments: all of it is initialised.  Needs no `tools`. */
void cpi_tools_wrote(const void *from, size_t size);
void cpi_tools_call(size_t arguments);

/* The beginning and end of a block that is in use, inside an outer block that nothing points to.
 * The outer block must not move in between.  Returns whether Memcheck is there. */
bool cpi_tools_block(void *block, size_t size, bool taken);

/* Between these two calls the calling thread's accesses to slots and gaps are the library's own,
 * not mistakes. */
void cpi_tools_pause(void);
void cpi_tools_resume(void);

/* Whether ThreadSanitizer ignores the calling thread.  It watches memcpy also in a library that it
 * has not compiled, but not what orders it. */
void cpi_tools_ignore(bool ignores);

/* Prints the calling thread's stack to standard error, if a tool can. */
void cpi_tools_print_stack(void);

#endif /* CPI_TOOLS_H */
