/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guards.h - detects writes to the gaps around slots.
 *
 *   slab          lead | slot 0 | gap 0 | slot 1 | gap 1 | ...
 *
 * The gap after a slot is also the gap before the next one.  A gap is filled when the slot before
 * it is first taken, never at creation.
 */
#ifndef CPI_GUARDS_H
#define CPI_GUARDS_H

#include "check/records.h"

/* The minimum size of a gap, bytes. */
#define CPI_GUARD_GAP ((size_t)8)

/* The number of bytes that are filled and verified at each end of a gap. */
#define CPI_GUARD_REACH ((size_t)64)

/* How many damaged bytes a report shows. */
#define CPI_DAMAGE_SHOWN 16

enum cpi_damage_place {
    CPI_DAMAGE_BEFORE, /* in the gap before the slot */
    CPI_DAMAGE_AFTER
};

/* Bytes that were overwritten. */
struct cpi_damage {
    uintptr_t index; /* of the slot */
    enum cpi_damage_place place;
    size_t size;  /* bytes of the gap */
    size_t first; /* offset in the gap of the lowest damaged byte */
    size_t last;  /* offset of the highest damaged byte */
    size_t shown; /* how many bytes follow, starting with the first */
    unsigned char expected[CPI_DAMAGE_SHOWN];
    unsigned char found[CPI_DAMAGE_SHOWN];
};

/* Adds a description: what was overwritten, which slot's user probably did it, and both slots. */
void cpi_damage_tell(struct cpi_text *text, const struct cpi_slab *slab,
                     const struct cpi_damage *damage);

/* Fills the gaps of n fresh slots.  Only for the thread that took them, before it publishes
 * them. */
void cpi_guard_bumped(const struct cpi_slab *slab, uintptr_t first, uintptr_t n);

/* Whether the gap after the slot has been filled. */
bool cpi_guard_is_filled(const struct cpi_slab *slab, uintptr_t index);

/* Verifies the gaps on both sides of a slot.  Returns false, with the damage, if one was
 * overwritten.  Repairs the gap, so that damage is reported once.  Any thread, wait-free. */
bool cpi_guard_verify(const struct cpi_slab *slab, uintptr_t index, struct cpi_damage *damage);

#endif /* CPI_GUARDS_H */
