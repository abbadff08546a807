/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/debug.h - damage, use after free, double frees and leaks, with their places in the
 * program.
 *
 * <cpool.h> does not include it.
 *
 * OVERVIEW
 *
 * A pool created with CPOOL_CHECKED verifies every operation.  So does every pool of a program
 * started with CPOOL_OPTIONS in its environment, without recompilation:
 *
 *     CPOOL_OPTIONS=checked,fill ./program
 *
 * Each mistake is reported with the state of the slot, with the threads and the places that last
 * took and freed it, and with the overwritten bytes.
 *
 * NOTES
 *
 * The words of CPOOL_OPTIONS are separated by commas or blanks.
 *
 *   checked        as CPOOL_CHECKED
 *   fill           as CPOOL_FILL, and in pools with CPOOL_MEMORY_NO_POISON as CPOOL_CHECKED
 *   leaks          at the end of the process the live slots of all pools are listed
 *   continue       the default error handler returns instead of aborting
 *   no_poison      as CPOOL_MEMORY_NO_POISON
 *   barrier=no     the system call membarrier is not used.  Every alloc and free is then a call
 *                  with a full fence, and takes three to four times as long.  For a program that
 *                  forbids itself the call later
 *
 * Unknown words are named on standard error.  Programs that run with more rights than their
 * user, such as those with the set-user-ID bit, ignore the variable.
 *
 * If the memory that a program provides is too small for these settings, the pool is created
 * without them, and a line on standard error says so.  cpool_memory_required includes them.
 *
 * A place in a report is "function+0x12 (module+0x1234)" if the module exports the
 * function, followed by the return address.  `addr2line -i -f -e module 0x1234` finds
 * the line of the call, in position-independent programs, too.
 *
 * cpool_print lists live slots by place (CPOOL_PRINT_LIVE).
 *
 * Sanitizers and Valgrind.  Whenever a pool is created, the library finds out which of these tools
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
 *   Memcheck              slots are blocks of a memory pool: uses after free, frees
 *                         of free slots, uses beyond a slot's end and uses of uninitialised
 *                         bytes are reported, with the stacks of alloc and free
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
 * The tools do not tell of slots that are never freed.  CPOOL_CHECKED lists them.
 *
 * The other tools of Valgrind, such as Callgrind and Massif, see a pool as it is.  DRD does
 * not know atomic operations, and reports false conflicts in the library.  Helgrind
 * reports a program's relaxed atomic operations.  Use ThreadSanitizer instead.  A
 * library that was itself compiled with -fsanitize=thread announces nothing to
 * ThreadSanitizer, which sees its synchronisation.
 *
 * Only checked pools bear the costs.  They have no inline path, and each slot takes 8
 * bytes or more of gap, 8 of state, and 56 for its record.
 */
#ifndef CPOOL_DEBUG_H
#define CPOOL_DEBUG_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Looking for damage (cpool_debug.3) --------------------------------------
 */

/*
 * cpool_verify - verifies one slot, or the whole pool.
 *
 * slot   live or free.  NULL: all slots that were ever handed out
 *
 * Looks at the bytes around a slot, and at its own if it is free and the pool fills freed slots.
 * All damage is reported, as CPOOL_EGUARD or CPOOL_EFREED, and repaired, so that it is found once.
 *
 * Returns 0, or the first code that was reported: CPOOL_EGUARD or CPOOL_EFREED in a checked pool,
 * CPOOL_EFOREIGN, CPOOL_EMISALIGNED or CPOOL_EUNUSED for the address in any pool, or CPOOL_EPOOL.
 * Any thread, beside threads that use the pool.  It may block.  An alloc of the slot that
 * is being looked at waits.
 */
CPOOL_API int cpool_verify(cpool_t *pool, const void *slot);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_DEBUG_H */
