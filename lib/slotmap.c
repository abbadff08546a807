/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slotmap.c - the states of slots.
 *
 * ORDERING TABLE
 *   own   | word load             | relaxed | - | -
 *   given | word CAS, CAS failure | relaxed | - | -
 *
 * Only a double free has two threads change one word at once, and the CAS lets one of
 * them win.  A thread that loses needs nothing of the winner's.
 */
#include "slotmap.h"

void cpi_slotmap_init(struct cpi_slotmap *map, const struct cpi_slab *slab)
{
    unsigned shift = 1;

    while (shift < 33 && (uint64_t)1 << (shift - 1) < slab->slots)
        shift++;
    if (shift < 64 - CPI_GENERATION_BITS)
        shift = 64 - CPI_GENERATION_BITS;
    map->words = (_Atomic uint64_t *)(void *)slab->sides[CPI_SIDE_WORDS].extent.base;
    map->step = (uint64_t)1 << shift;
}

static enum cpi_slotmap_state state_of(uint64_t word)
{
    if ((word & CPI_SLOTMAP_LIVE) != 0)
        return CPI_SLOTMAP_LIVE_ONE;
    return word != 0 ? CPI_SLOTMAP_FREE : CPI_SLOTMAP_NEVER_TAKEN;
}

/* The word of a live slot that becomes free.  The generation 0 is the first one's alone. */
static uint64_t next_free(const struct cpi_slotmap *map, uint64_t word)
{
    uint64_t next = word - CPI_SLOTMAP_LIVE + map->step;

    return next < word ? next + map->step : next;
}

enum cpi_slotmap_state cpi_slotmap_state(const struct cpi_slotmap *map, uintptr_t index)
{
    return state_of(cpi_load(&map->words[index], relaxed)); /* [own] */
}

enum cpi_slotmap_state cpi_slotmap_give(const struct cpi_slotmap *map, uintptr_t index)
{
    uint64_t word = cpi_load(&map->words[index], relaxed); /* [own] */

    if ((word & CPI_SLOTMAP_LIVE) == 0 ||
        cpi_cas_strong(&map->words[index], &word, next_free(map, word), /* [given] */
                       relaxed, relaxed))                               /* [given] */
        return state_of(word);
    return CPI_SLOTMAP_FREE;
}

void cpi_slotmap_clear(const struct cpi_slotmap *map, uintptr_t index)
{
    (void)cpi_slotmap_give(map, index);
}
