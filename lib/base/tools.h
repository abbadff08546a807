/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools.h - requests to sanitizers and to Valgrind, and probes for tracers.
 *
 * `tools` is always those that one pool is announced to, found when it was created.  Each
 * function does nothing about others.  With -DCPI_TOOLS=0 there are none: so the library's
 * own tests see the pools as they are, although they run under tools, too.
 *
 * A sanitizer's functions are weak references.  The program brings them along, or else
 * they are NULL.  Valgrind is asked by instructions that do nothing elsewhere.
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

/* Those to which bytes matter. */
#define CPI_TOOLS_BYTES (CPI_TOOL_ASAN | CPI_TOOL_MSAN | CPI_TOOL_MEMCHECK)

/* The tools that this process runs under. */
unsigned cpi_tools_found(void);

/* A pool of slots with `gap` bytes between them begins and ends.  `pool` is any address
 * of its own.  Before it ends, its memory is to be shown. */
void cpi_tools_open(unsigned tools, const void *pool, void *slots, size_t size, size_t gap);
void cpi_tools_close(unsigned tools, const void *pool, void *slots, size_t size);

/* Blocks that only this memory points to are no leaks, until it is removed.  In any process. */
void cpi_tools_add_root(const void *from, size_t size);
void cpi_tools_remove_root(const void *from, size_t size);

/* Nobody is to touch this memory, or it is ordinary memory again. */
void cpi_tools_hide(unsigned tools, void *from, size_t size);
void cpi_tools_show(unsigned tools, void *from, size_t size);

/* Looks for blocks that nothing points to.  Pointers in memory that is ignored do not
 * count.  The library itself must not look at it meanwhile. */
void cpi_tools_find_leaks(unsigned tools);
void cpi_tools_ignore(unsigned tools, void *from, size_t size, bool ignored);

/* A slot goes to a caller, and comes back from one.  Order and bytes. */
void cpi_tools_taken(unsigned tools, const void *pool, void *slot, size_t size);
void cpi_tools_given(unsigned tools, const void *pool, void *slot, size_t size);

/* A slot that is free is freed.  The library reports and refuses it. */
void cpi_tools_freed_again(unsigned tools, const void *pool, void *slot);

/* The library has written this, or is about to call a function of the program's with so
 * many arguments: all of it is initialised.  In any process. */
void cpi_tools_wrote(const void *from, size_t size);
void cpi_tools_call(size_t arguments);

/* A block that somebody points to, inside one that nobody does, and its end.  The outer one does
 * not move meanwhile. */
void cpi_tools_block_taken(void *block, size_t size);
void cpi_tools_block_given(void *block, size_t size);

/* Between these two the calling thread's accesses to slots and gaps are the library's
 * own, and no mistakes. */
void cpi_tools_pause(void);
void cpi_tools_resume(void);

/* Prints the calling thread's stack to standard error, if a tool can. */
void cpi_tools_print_stack(void);

/* A static probe is an instruction without effect at its place, and a note in the library that
 * names the place and tells where the arguments are.  <cpool/pools.h> lists them all.  They stand
 * on slow paths alone. */
#ifdef CPI_PROBES
#include <sys/sdt.h>
#ifdef __clang__ /* of the macros of that header */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif
#define CPI_PROBE2(name, a, b) DTRACE_PROBE2(libcpool, name, a, b)
#else
#define CPI_PROBE2(name, a, b) ((void)0)
#endif

#endif /* CPI_TOOLS_H */
