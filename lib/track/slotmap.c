/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slotmap.c - the states of slots.
 *
 * ORDERING TABLE
 *   own   | word load             | relaxed | - | -
 *   peek  | word load             | relaxed | - | -
 *   see   | word load             | acquire | slotmap.h's taken | what the slot held when it
 *                                                               was taken
 *
 * [peek] passes over lines without a live slot.  A slot that was taken before the look, by
 * synchronisation, and is not freed before its end, is live in the word that the look finds,
 * because every later word of that slot is.
 */
#include "track/slotmap.h"

/* Words in a cache line. */
#define CPI_SLOTMAP_LINE (CPI_LINE / CPI_SLOTMAP_SIZE)

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

/* Whether a line has a live slot, and how many. */
static uint64_t line_live(const _Atomic uint64_t *words)
{
    uint64_t live = 0;
    unsigned i;

    for (i = 0; i < CPI_SLOTMAP_LINE; i++)
        live |= cpi_load(&words[i], relaxed); /* [peek] */
    return live & CPI_SLOTMAP_LIVE;
}

static size_t line_count(const _Atomic uint64_t *words)
{
    size_t count = 0;
    unsigned i;

    for (i = 0; i < CPI_SLOTMAP_LINE; i++)
        count += (cpi_load(&words[i], relaxed) & CPI_SLOTMAP_STATE) == /* [peek] */
                 CPI_SLOTMAP_LIVE;
    return count;
}

static bool is_whole_line(uintptr_t index, uintptr_t end)
{
    return index % CPI_SLOTMAP_LINE == 0 && end - index >= CPI_SLOTMAP_LINE;
}

uint64_t cpi_slotmap_next(const struct cpi_slotmap *map, uintptr_t *index, uintptr_t end)
{
    uintptr_t i = *index;
    uint64_t word = 0;

    while (i < end) {
        if (is_whole_line(i, end) && line_live(&map->words[i]) == 0) {
            i += CPI_SLOTMAP_LINE;
            continue;
        }
        word = cpi_slotmap_live(map, i);
        if (word != 0)
            break;
        i++;
    }
    *index = i;
    return word;
}

size_t cpi_slotmap_count(const struct cpi_slotmap *map, uintptr_t first, uintptr_t end)
{
    size_t count = 0;
    uintptr_t i = first;

    while (i < end) {
        if (is_whole_line(i, end)) {
            count += line_count(&map->words[i]);
            i += CPI_SLOTMAP_LINE;
        } else {
            count += cpi_slotmap_live(map, i++) != 0;
        }
    }
    return count;
}

void cpi_slotmap_clear(const struct cpi_slotmap *map, uintptr_t index)
{
    cpi_slotmap_back(map, index);
    (void)cpi_slotmap_give(map, index);
}
