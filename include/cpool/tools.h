/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/tools.h - a pool's slots, as sanitizers and Valgrind see them.
 *
 * OVERVIEW
 *
 * Whenever a pool is created, the library finds out which of these tools
 * the process runs under, and then announces each slot as malloc would a block.  The
 * library needs no special build: a program compiled with -fsanitize=address, or started
 * by valgrind, works with the installed one.
 *
 *     gcc -g -fsanitize=address prog.c -lcpool && ./a.out
 *     valgrind --leak-check=full ./a.out
 *
 *   AddressSanitizer      free slots, slots never handed out and the bytes between slots
 *                         are poisoned: "use-after-poison".  Blocks of malloc that
 *                         only live slots point to are not leaks
 *   MemorySanitizer       slots are uninitialised when they are handed out and while they
 *                         are free.  Results of the library's functions are initialised
 *   ThreadSanitizer       the use of a slot before its free happens before the use after
 *                         the next alloc.  A use after the free is a race
 *   Memcheck              slots are blocks of a memory pool: leaks, uses after free, frees
 *                         of free slots, uses beyond a slot's end and uses of uninitialised
 *                         bytes are reported, with the stacks of alloc and free
 *
 * NOTES
 *
 * A pool created under one of these tools has no inline path: each alloc and free
 * is a call, even in a program compiled to inline it.  Under a tool that watches bytes, a
 * pool outside caller-provided memory keeps some bytes free between slots, so its stride is larger.
 * A pool in caller-provided memory has such bytes with CPOOL_CHECKED only.
 *
 * Slots keep their bytes from free to alloc under every tool, but Memcheck and
 * MemorySanitizer regard these bytes as uninitialised.  A program that keeps objects constructed
 * in free slots, or reads these on purpose, creates its pool with CPOOL_MEMORY_NO_POISON.  Then
 * the tools that watch bytes know nothing of its slots.
 *
 * Slots above the first 64 MiB of a pool are announced when they are first handed out.
 *
 * heaptrack, massif and other profilers that count the calls of malloc see nothing of a pool.
 * CPOOL_CHECKED lists live slots by the place that took them (cpool_print, CPOOL_PRINT_LIVE), and
 * massif counts pages with --pages-as-heap=yes.
 *
 * Memcheck looks for leaks in the whole process when a pool with live slots is destroyed.  The
 * other tools do not name such slots.  CPOOL_CHECKED lists them.
 *
 * The other tools of Valgrind, such as Callgrind and Massif, see a pool as it is.  DRD does
 * not know atomic operations, and reports false conflicts in the library.  Helgrind
 * reports a program's relaxed atomic operations.  Use ThreadSanitizer instead.  A
 * library that was itself compiled with -fsanitize=thread announces nothing to
 * ThreadSanitizer, which sees its synchronisation.
 */
#ifndef CPOOL_TOOLS_H
#define CPOOL_TOOLS_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Tools (cpool_tools.3) ---------------------------------------------------
 */

/* The tools that the library knows. */
#define CPOOL_TOOL_ASAN 0x1u
#define CPOOL_TOOL_MSAN 0x2u
#define CPOOL_TOOL_TSAN 0x4u
#define CPOOL_TOOL_MEMCHECK 0x8u

/*
 * cpool_tools - the tools to which new pools are announced.
 *
 * For programs and tests that do less, or wait longer, under a tool.
 *
 * Returns a combination of CPOOL_TOOL_ASAN and its like, or 0 for none.
 * Any thread, wait-free.
 */
CPOOL_API unsigned cpool_tools(void);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_TOOLS_H */
