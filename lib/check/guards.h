/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guards.h - whether a slot was written outside of its life: the bytes around it are intact, and
 * so are its own while it is free.
 *
 *   slab          lead | slot 0 | gap 0 | slot 1 | gap 1 | ...
 *
 * The gap after a slot is at the same time the gap before the next one.  A gap is filled
 * when the slot before it is taken from the fresh ones, never at creation.
 */
#ifndef CPI_GUARDS_H
#define CPI_GUARDS_H

#include "check/records.h"

/* Least bytes in a gap. */
#define CPI_GUARD_GAP ((size_t)8)

/* Most bytes that are filled and verified at each end of a gap. */
#define CPI_GUARD_REACH ((size_t)64)

/* The byte that freed slots are filled with.  A pointer made of it leads nowhere. */
#define CPI_GUARD_FREED 0xDFu

/* Damaged bytes that are shown. */
#define CPI_DAMAGE_SHOWN 16

enum cpi_damage_place {
    CPI_DAMAGE_BEFORE, /* in the gap before the slot */
    CPI_DAMAGE_AFTER,
    CPI_DAMAGE_INSIDE /* in a slot that is free */
};

/* Bytes that were overwritten. */
struct cpi_damage {
    uintptr_t index; /* of the slot */
    enum cpi_damage_place place;
    size_t size;  /* bytes of the gap, or of the slot */
    size_t first; /* offset in the gap or slot of the lowest damaged byte */
    size_t last;  /* and of the highest */
    size_t shown; /* bytes below, from the first one on */
    unsigned char expected[CPI_DAMAGE_SHOWN];
    unsigned char found[CPI_DAMAGE_SHOWN];
};

/* The error code of a damage. */
static inline int cpi_damage_code(const struct cpi_damage *damage)
{
    return damage->place == CPI_DAMAGE_INSIDE ? CPOOL_EFREED : CPOOL_EGUARD;
}

/* Adds what was overwritten, which slot's user probably did it, and both slots. */
void cpi_damage_tell(struct cpi_text *text, const struct cpi_slab *slab,
                     const struct cpi_damage *damage);

/* Fills the gaps of n slots just handed out.  Only for the thread that took them, before
 * it shows them to other threads. */
void cpi_guard_bumped(const struct cpi_slab *slab, uintptr_t first, uintptr_t n);

/* Whether the gap after the slot has been filled. */
bool cpi_guard_is_filled(const struct cpi_slab *slab, uintptr_t index);

/* Looks at the gaps beside a slot.  Returns false, with the damage, if one was
 * overwritten.  The gap is repaired, so that damage is found once.  Any thread,
 * wait-free. */
bool cpi_guard_verify(const struct cpi_slab *slab, uintptr_t index, struct cpi_damage *damage);

/* The slot is taken.  Waits for a thread that looks at it.  Returns false, with the
 * damage, if it had been filled and was written since.  Only for the slot's owner. */
bool cpi_guard_take(const struct cpi_slab *slab, uintptr_t index, struct cpi_damage *damage);

/* The slot is free.  `fills`: and filled with the pattern.  Only for the slot's owner. */
void cpi_guard_give(const struct cpi_slab *slab, uintptr_t index, bool fills);

/* Looks at a slot that may be free and filled, at any time: while it does, the slot is
 * not taken.  Returns false, with the damage, if it was written to.  The slot is filled
 * anew then.  With forks held off, because a child might wait for ever. */
bool cpi_guard_inspect(const struct cpi_slab *slab, uintptr_t index, struct cpi_damage *damage);

/* Looks at slots from *index to before `end` until one is damaged: *index is that slot's then.
 * With forks held off. */
bool cpi_guard_find(const struct cpi_slab *slab, uintptr_t *index, uintptr_t end,
                    struct cpi_damage *damage);

#endif /* CPI_GUARDS_H */
