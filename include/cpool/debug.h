/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/debug.h - damage, use after free, double frees and leaks, with the places in the
 * program that they come from.
 *
 * Include it where its functions are called.  <cpool.h> does not.
 *
 * OVERVIEW
 *
 * A pool that is created with CPOOL_CHECKED verifies every operation.  So does every
 * pool of a program that is started with CPOOL_OPTIONS in its environment, without being
 * compiled again:
 *
 *     CPOOL_OPTIONS=checked,fill,sites=8,log=64 ./program
 *
 * Each mistake is reported with the state of the slot, with the threads and the places
 * that took and freed it last, and with the bytes that were overwritten.
 *
 * NOTES
 *
 * The words of CPOOL_OPTIONS are separated by commas or blanks.  `fill`, `quarantine`,
 * `sites` and `log` are members of cpool_debug_t, which a program sets in its configuration.
 * They imply `checked`, and the larger of the two settings counts.
 *
 *   checked        as CPOOL_CHECKED
 *   fill           freed slots are filled
 *   quarantine=N   freed slots wait until N others have been freed (256)
 *   sites=N        N return addresses of each slot's last alloc and last free, up to 32
 *                  (8).  More than one takes the GNU C library
 *   log=N          the last N allocs and frees of each pool, which are printed with
 *                  each report (256)
 *   leaks          at the end of the process the live slots of all pools are listed
 *   continue       the default error handler returns instead of aborting
 *   no_poison      as CPOOL_MEMORY_NO_POISON
 *   fake           slots and objects come from malloc (see below)
 *
 * The number in parentheses is that of the word alone.  A word that is not understood is
 * named on standard error.  A program that runs with more rights than its user, as one
 * with the set-user-ID bit does, ignores the variable.
 *
 * A pool that cannot be made with these settings, because its program provides too little
 * memory for them, is created without, which is said on standard error.
 * cpool_memory_required includes them.
 *
 * A place in a report is "function+0x12 (module+0x1234)" as far as the module exports the
 * function, followed by the return address.  `addr2line -i -f -e module 0x1234` finds
 * the line of the call, in position-independent programs, too.
 *
 * With `fake` every alloc of a pool is a block of its fallback (cpool_create.3), of which as
 * many may be live as max_capacity and `fallback` allow together, and object pools are made
 * with CPOOL_OBJECT_FAKE.  ASan and Memcheck then know both ends of each slot, and the calls
 * that took and freed it (ASan: fast_unwind_on_malloc=0, because the library keeps no frame
 * pointers).  A program's time with and without it shows what its pools are worth.  A block has
 * no index, so pools that keep slots or their state stay as they are: those with CPOOL_TRACKED,
 * CPOOL_CHECKED and its settings, CPOOL_MEMORY_KEEP_PAGES or CPOOL_MEMORY_NO_POISON,
 * and those of blocks of many sizes.  Leases have slots of any pool.
 *
 * The costs fall on checked pools alone.  They have no inline path, and for each slot 8
 * bytes or more of gap, 8 of state, and 56 and 16 for each site beyond the first.  A
 * backtrace of eight sites takes about a microsecond.
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
 * cpool_audit - verifies a whole checked pool: the bytes around every slot, and those of
 * freed slots where the pool fills them.
 *
 * Each damage is reported, as CPOOL_EGUARD or CPOOL_EFREED, and repaired, so that it is
 * found once.
 *
 * Returns the number of reports, 0 for a pool that is not checked.
 * Any thread, beside threads that use the pool.  It may block.  An alloc of the slot that
 * is being looked at waits.  Its cost depends on the number of slots.
 */
CPOOL_API size_t cpool_audit(cpool_t *pool);

/*
 * cpool_verify - verifies one slot.
 *
 * slot   live or free
 *
 * Returns 0, or the code that was reported: CPOOL_EFOREIGN, CPOOL_EMISALIGNED or
 * CPOOL_EUNUSED in any pool, CPOOL_EGUARD or CPOOL_EFREED in a checked one, or
 * CPOOL_EPOOL.
 * Any thread.  It may block.
 */
CPOOL_API int cpool_verify(cpool_t *pool, const void *slot);

/*
 * ---- Live slots and the log (cpool_debug.3) ------------------------------------
 */

/*
 * cpool_print_live - lists the live slots of a checked pool by the place that took them.
 *
 * A line has the number of slots, the place with its callers as far as they are kept, the
 * thread and the address of the oldest slot, and how long the oldest and the youngest
 * have been live.  Places with many slots come first.  Beyond 63 places they are counted
 * together.
 *
 * Returns the number of slots listed, 0 for a pool that is not checked.
 * Any thread, beside threads that use the pool.  It does what the stream does.
 */
CPOOL_API size_t cpool_print_live(cpool_t *pool, FILE *out);

/*
 * cpool_print_log - lists the last allocs and frees of a pool that keeps a log, the
 * oldest first.
 *
 * The default error handler does so after each report.
 *
 * Returns the number of lines.
 * Any thread, an error handler included.  It does what the stream does.
 */
CPOOL_API size_t cpool_print_log(cpool_t *pool, FILE *out);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_DEBUG_H */
