/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard.h - beside every slot of checked pools: its last site, and whether the bytes
 * around it are intact.  slotmap.h knows which slots are live.
 *
 * Floor 4.  Includes slotmap.h.
 *
 *   side memory   | guard 0 | guard 1 | guard 2 | ...
 *
 *   slab     lead | slot 0 | gap 0 | slot 1 | gap 1 | ...
 *
 * The gap after a slot is at the same time the gap before the next one, so each
 * free verifies the slot's own and the preceding slot's.  A gap is filled when
 * the slot before it is taken from the fresh ones, never at creation.
 *
 * Nothing here is used by pools that are not checked.
 */
#ifndef CPI_GUARD_H
#define CPI_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slotmap.h"

/* Least bytes in a gap. */
#define CPI_GUARD_GAP ((size_t)8)

/* Most bytes that are filled and verified at each end of a gap. */
#define CPI_GUARD_REACH ((size_t)64)

/* One slot's, in the slab's side memory. */
struct cpi_guard {
    _Atomic uintptr_t site; /* return address of the last alloc or free, or 0 until the gap
                               after the slot is filled, then CPI_GUARD_FILLED */
};

#define CPI_GUARD_SIZE (sizeof(struct cpi_guard))
#define CPI_GUARD_FILLED ((uintptr_t)1)

/* A finding about a slot. */
enum cpi_guard_finding {
    CPI_GUARD_GOOD,
    CPI_GUARD_DAMAGE_BEFORE, /* bytes before it were overwritten */
    CPI_GUARD_DAMAGE_AFTER
};

/* Fills the gaps of n slots just handed out.  Only for the thread that took them, before
 * it shows them to other threads. */
void cpi_guard_bumped(const struct cpi_slab *slab, uintptr_t first, uintptr_t n);

/* Whether the gap after the slot has been filled. */
bool cpi_guard_is_filled(const struct cpi_slab *slab, uintptr_t index);

/* Looks at the gaps beside a slot, and repairs them, so that damage is found once.
 * Wait-free. */
enum cpi_guard_finding cpi_guard_verify(const struct cpi_slab *slab, uintptr_t index);

/* Notes where the slot is taken or freed.  Only for the slot's owner.  Wait-free. */
void cpi_guard_set_site(const struct cpi_slab *slab, uintptr_t index, const void *site);

/* Where the slot was last taken or freed, or NULL if never. */
const void *cpi_guard_site(const struct cpi_slab *slab, uintptr_t index);

/* Prints the live slots to standard error, by call site.  Nobody else may be
 * using the slab.  Allocates nothing. */
void cpi_guard_print_live(const struct cpi_slab *slab, const struct cpi_slotmap *map,
                          const char *name, size_t live);

#endif /* CPI_GUARD_H */
