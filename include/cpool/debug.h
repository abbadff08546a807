/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/debug.h - damage, use after free, double frees and leaks, with their places in the
 * program.
 *
 * <cpool.h> does not include it.
 *
 * OVERVIEW
 *
 * A pool created with CPOOL_CHECKED verifies every operation.  So does every pool of a
 * program started with CPOOL_OPTIONS in its environment, without recompilation:
 *
 *     CPOOL_OPTIONS=checked,fill ./program
 *
 * Each mistake is reported with the state of the slot, with the threads and the places
 * that last took and freed it, and with the overwritten bytes.
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
 * cpool_audit - verifies a whole checked pool: the bytes around every slot, and those of
 * freed slots if the pool fills them.
 *
 * All damage is reported, as CPOOL_EGUARD or CPOOL_EFREED, and repaired, so that it is
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

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_DEBUG_H */
