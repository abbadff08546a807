/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guards.c - the gaps between slots.
 *
 * ORDERING TABLE
 *   born   | filled store | release | filled | the gap after the slot is filled
 *   filled | filled load  | acquire | born   | the gap before the slot is filled
 */
#include "check/guards.h"

#include <inttypes.h>

#include "base/tools.h"

/*
 * The filling: gaps are filled with a different byte at each address.  glibc's free takes the word
 * before a block for its size, and the lowest bits for flags.  Bits 1 and 2 would make it unmap the
 * block or look for the head of an arena.  With these bits 0, and bit 3 set, it reports an invalid
 * size.
 */
static unsigned char filling_byte(const unsigned char *at)
{
    return (unsigned char)(((uintptr_t)at * 29u & ~0x0eu) ^ 0xb8u);
}

/* Tools must not report these accesses: to them, gaps belong to nobody. */
CPI_UNINSTRUMENTED static void fill_bytes(unsigned char *from, size_t n)
{
    cpi_tools_pause();
    for (size_t i = 0; i < n; i++)
        from[i] = filling_byte(from + i);
    cpi_tools_resume();
}

/* Searches the bytes in [from, to) for changes, and adds them to the damage.  While there is no
 * damage, first > last. */
CPI_UNINSTRUMENTED static void search_damage(const unsigned char *bytes, size_t from, size_t to,
                                             struct cpi_damage *damage)
{
    for (size_t i = from; i < to; i++) {
        if (bytes[i] == filling_byte(bytes + i))
            continue;
        if (damage->first > damage->last)
            damage->first = i;
        damage->last = i;
    }
}

/* Copies the bytes from the first damaged one to before `end`. */
CPI_UNINSTRUMENTED static void copy_damage(const unsigned char *bytes, size_t end,
                                           struct cpi_damage *damage)
{
    for (size_t i = damage->first; i < end && damage->shown < CPI_DAMAGE_SHOWN; i++) {
        damage->expected[damage->shown] = filling_byte(bytes + i);
        damage->found[damage->shown++] = bytes[i];
    }
}

/* --- Gaps --- */

/* Bytes that are verified on each side of a slot. */
static size_t gap_reach(size_t gap)
{
    return gap < CPI_GUARD_REACH ? gap : CPI_GUARD_REACH;
}

/* The gap after a slot.  The gap before slot 0 is at the end of the lead. */
static unsigned char *gap_after(const struct cpi_slab *slab, uintptr_t index, size_t *size)
{
    *size = slab->stride - slab->slot_size;
    return (unsigned char *)cpi_slab_slot(slab, index) + slab->slot_size;
}

static unsigned char *gap_before(const struct cpi_slab *slab, uintptr_t index, size_t *size)
{
    if (index > 0)
        return gap_after(slab, index - 1, size);
    *size = CPI_GUARD_GAP;
    return (unsigned char *)cpi_slab_slot(slab, 0) - CPI_GUARD_GAP;
}

static void fill_gap(unsigned char *gap, size_t size)
{
    fill_bytes(gap, gap_reach(size));
    fill_bytes(gap + size - gap_reach(size), gap_reach(size));
}

/* Verifies both ends of a gap.  Returns whether they are intact, and repairs them. */
static bool is_gap_intact(unsigned char *gap, size_t size, enum cpi_damage_place place,
                          struct cpi_damage *damage)
{
    size_t start = gap_reach(size);
    size_t end = size - start > start ? size - start : start;

    damage->place = place;
    damage->size = size;
    damage->first = 1;
    damage->last = 0;
    damage->shown = 0;
    cpi_tools_pause();
    search_damage(gap, 0, start, damage);
    search_damage(gap, end, size, damage);
    if (damage->first <= damage->last)
        copy_damage(gap, damage->first < start ? start : size, damage);
    cpi_tools_resume();
    if (damage->first > damage->last)
        return true;
    fill_gap(gap, size);
    return false;
}

bool cpi_guard_is_filled(const struct cpi_slab *slab, uintptr_t index)
{
    return cpi_load(&cpi_record_of(slab, index)->filled, acquire) != 0; /* [filled] */
}

void cpi_guard_bumped(const struct cpi_slab *slab, uintptr_t first, uintptr_t n)
{
    unsigned char *gap;
    size_t size;

    for (uintptr_t i = first; i < first + n; i++) {
        /* After a reset the gaps are filled already, and other threads may be verifying them. */
        if (cpi_guard_is_filled(slab, i))
            continue;
        if (i == 0) {
            gap = gap_before(slab, 0, &size);
            fill_gap(gap, size);
        }
        gap = gap_after(slab, i, &size);
        fill_gap(gap, size);
        cpi_store(&cpi_record_of(slab, i)->filled, 1, release); /* [born] */
    }
}

bool cpi_guard_verify(const struct cpi_slab *slab, uintptr_t index, struct cpi_damage *damage)
{
    size_t size;
    unsigned char *gap = gap_after(slab, index, &size);
    bool intact = is_gap_intact(gap, size, CPI_DAMAGE_AFTER, damage);

    /* The thread that got the preceding slot may still be about to fill its gap. */
    if (intact && (index == 0 || cpi_guard_is_filled(slab, index - 1))) {
        gap = gap_before(slab, index, &size);
        intact = is_gap_intact(gap, size, CPI_DAMAGE_BEFORE, damage);
    }
    damage->index = index;
    return intact;
}

/* --- What a report tells --- */

static void tell_bytes(struct cpi_text *text, const char *what, const unsigned char *bytes,
                       size_t n)
{
    cpi_text_add(text, "cpool:     %s", what);
    for (size_t i = 0; i < n; i++)
        cpi_text_add(text, " %02x", bytes[i]);
    cpi_text_add(text, "\n");
}

/* Tells the offset of the first damaged byte from the slot's start. */
static void tell_place(struct cpi_text *text, const struct cpi_slab *slab,
                       const struct cpi_damage *damage)
{
    uintptr_t slot = (uintptr_t)cpi_slab_slot(slab, damage->index);
    size_t bytes = damage->last - damage->first + 1;
    bool is_after = damage->place == CPI_DAMAGE_AFTER;
    intptr_t offset = (intptr_t)(damage->first + (is_after ? slab->slot_size : 0 - damage->size));

    cpi_text_add(text, "cpool:   %zu bytes were overwritten, the first at offset %" PRIdPTR ", ",
                 bytes, offset);
    if (is_after)
        cpi_text_add(text, "%zu past the end", damage->first);
    else
        cpi_text_add(text, "before the start");
    cpi_text_add(text, " of slot %" PRIuPTR " (0x%" PRIxPTR ")\n", damage->index,
                 slot + (uintptr_t)offset);
}

/* A gap lies between two slots.  Damage at its start most likely comes from the user of the lower
 * slot, and damage at its end from the user of the higher one. */
static void tell_culprit(struct cpi_text *text, const struct cpi_damage *damage)
{
    uintptr_t higher = damage->index + (damage->place == CPI_DAMAGE_AFTER);

    if (damage->first == 0 && higher > 0)
        cpi_text_add(text, "cpool:   probably the user of slot %" PRIuPTR " wrote past its end\n",
                     higher - 1);
    else if (damage->last == damage->size - 1)
        cpi_text_add(text,
                     "cpool:   probably the user of slot %" PRIuPTR " wrote before its start\n",
                     higher);
    else
        cpi_text_add(text, "cpool:   neither neighbour touches these bytes: a stray write\n");
}

CPI_COLD void cpi_damage_tell(struct cpi_text *text, const struct cpi_slab *slab,
                              const struct cpi_damage *damage)
{
    tell_place(text, slab, damage);
    tell_bytes(text, "expected", damage->expected, damage->shown);
    tell_bytes(text, "found   ", damage->found, damage->shown);
    tell_culprit(text, damage);
    cpi_record_tell(text, slab, damage->index);
    cpi_record_tell(text, slab,
                    damage->place == CPI_DAMAGE_AFTER ? damage->index + 1 : damage->index - 1);
}
