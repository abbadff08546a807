/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slotmap.c - the states of slots.
 *
 * ORDERING TABLE
 *   own   | word load             | relaxed | - | -
 *   see   | word load             | acquire | slotmap.h's taken | what the slot held when it
 *                                                               was taken
 */
#include "track/slotmap.h"

void cpi_slotmap_init(struct cpi_slotmap *map, const struct cpi_slab *slab)
{
    unsigned shift = CPI_SLOTMAP_INDEX;

    while (shift < 32 + CPI_SLOTMAP_INDEX &&
           (uint64_t)1 << (shift - CPI_SLOTMAP_INDEX) < slab->slots)
        shift++;
    if (shift < 64 - CPI_GENERATION_BITS)
        shift = 64 - CPI_GENERATION_BITS;
    map->words = cpi_slotmap_words(slab);
    map->step = (uint64_t)1 << shift;
}

enum cpi_slotmap_state cpi_slotmap_state(const struct cpi_slotmap *map, uintptr_t index)
{
    return cpi_slotmap_state_of(cpi_load(&map->words[index], relaxed)); /* [own] */
}

uint64_t cpi_slotmap_live(const struct cpi_slotmap *map, uintptr_t index)
{
    uint64_t word = cpi_load(&map->words[index], acquire); /* [see] */

    return (word & CPI_SLOTMAP_STATE) == CPI_SLOTMAP_LIVE ? word : 0;
}

void cpi_slotmap_clear(const struct cpi_slotmap *map, uintptr_t index)
{
    cpi_slotmap_back(map, index);
    (void)cpi_slotmap_give(map, index);
}
