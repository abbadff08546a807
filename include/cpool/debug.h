/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/debug.h - damage, double frees and leaks, with their places in the program.
 *
 * <cpool.h> does not include it.
 *
 * OVERVIEW
 *
 * A pool created with CPOOL_CHECKED verifies every operation.  So does every pool of a program that
 * is started with CPOOL_OPTIONS=checked, without recompilation:
 *
 *     CPOOL_OPTIONS=checked ./program
 *
 * Each mistake is reported with the state of the slot, with the threads and the places that last
 * took and freed it, and with the overwritten bytes.
 *
 * In production, CPOOL_OPTIONS=sample=1000 lets one slot in about a thousand lie at a page that
 * traps: an access beyond its end, or after its free, is reported where it happens.
 *
 * A name before a word, as in jobs:checked, limits it to the pools of that name.  Other words set
 * numbers of a pool's configuration, as jobs:capacity=5000 does.
 *
 * NOTES: cpool_debug(3) has notes on the words of CPOOL_OPTIONS, sampled slots, places in reports,
 * sanitizers, Valgrind and costs (doc/man/cpool_debug.txt).
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
 * Verifies the bytes around a slot.  All damage is reported, as CPOOL_EGUARD, and repaired, so
 * that it is found once.
 *
 * Returns 0, or the first code that was reported: CPOOL_EGUARD in a checked pool, CPOOL_EFOREIGN,
 * CPOOL_EMISALIGNED or CPOOL_EUNUSED for the address in any pool, or CPOOL_EPOOL.  Any thread,
 * while others use the pool.  It may block.
 */
CPOOL_API int cpool_verify(cpool_t *pool, const void *slot);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_DEBUG_H */
