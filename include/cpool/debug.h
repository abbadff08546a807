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
 * NOTES: cpool_debug(3) has notes on the words of CPOOL_OPTIONS, places in reports, sanitizers,
 * Valgrind and costs (doc/man/cpool_debug.txt).
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
 * Any thread, while others use the pool.  It may block.  An alloc of the slot that is being
 * verified waits.  Its cost depends on the number of slots.
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
