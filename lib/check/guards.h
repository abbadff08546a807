/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guards.h - detects writes to a slot while it is free, and writes to the gaps around it.
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

/* The byte that fills freed slots.  A pointer made of it is invalid. */
#define CPI_GUARD_FREED 0xDFu

/* How many damaged bytes a report shows. */
#define CPI_DAMAGE_SHOWN 16

enum cpi_damage_place {
    CPI_DAMAGE_BEFORE, /* in the gap before the slot */
    CPI_DAMAGE_AFTER,
    CPI_DAMAGE_INSIDE /* in the slot while it was free */
};

/* Bytes that were overwritten. */
struct cpi_damage {
    uintptr_t index; /* of the slot */
    enum cpi_damage_place place;
    size_t size;  /* bytes of the gap, or of the slot */
    size_t first; /* offset in the gap or slot of the lowest damaged byte */
    size_t last;  /* offset of the highest damaged byte */
    size_t shown; /* how many bytes follow, starting with the first */
    unsigned char expected[CPI_DAMAGE_SHOWN];
    unsigned char found[CPI_DAMAGE_SHOWN];
};

/* The error code for this damage. */
static inline int cpi_damage_code(const struct cpi_damage *damage)
{
    return damage->place == CPI_DAMAGE_INSIDE ? CPOOL_EFREED : CPOOL_EGUARD;
}

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

/* Takes the slot, after waiting for a thread that inspects it.  Returns false, with the damage, if
 * the slot was filled when it was freed and has been written since.  Only for the slot's owner. */
bool cpi_guard_take(const struct cpi_slab *slab, uintptr_t index, struct cpi_damage *damage);

/* Frees the slot, and fills it if `fills`.  Only for the slot's owner. */
void cpi_guard_give(const struct cpi_slab *slab, uintptr_t index, bool fills);

/* Inspects a slot if it is free and filled; meanwhile nobody can take it.  Returns false, with the
 * damage, if it was written, and fills it again.  No fork may happen meanwhile, because the child
 * might wait forever. */
bool cpi_guard_inspect(const struct cpi_slab *slab, uintptr_t index, struct cpi_damage *damage);

#endif /* CPI_GUARDS_H */
