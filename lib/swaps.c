/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swaps.c - the hash table of slots that take the place of others.
 */
#include "swaps.h"

#include <stdint.h>

#include "os.h"

/* Entries of the first table: two pages. */
#define CPI_SWAPS_FIRST 256u

void cpi_swaps_init(struct cpi_swaps *swaps)
{
    swaps->entries = NULL;
    swaps->room = 0;
    swaps->used = 0;
}

void cpi_swaps_fini(struct cpi_swaps *swaps)
{
    if (swaps->entries != NULL)
        cpi_os_release(swaps->entries, swaps->room * sizeof(struct cpi_swap));
    cpi_swaps_init(swaps);
}

/* Where the search for a pair begins. */
static size_t first_of(const struct cpi_swaps *swaps, const void *slot, uint32_t number)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)slot + number * UINT64_C(0xd1342543de82ef95)) *
                     UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(mixed >> 32) & (swaps->room - 1);
}

/* The slot's pair of this number, or the unused entry where it belongs. */
static struct cpi_swap *find(const struct cpi_swaps *swaps, const void *slot, uint32_t number)
{
    size_t i = first_of(swaps, slot, number);

    while (swaps->entries[i].slot != NULL &&
           (swaps->entries[i].slot != slot || swaps->entries[i].number != number))
        i = (i + 1) & (swaps->room - 1);
    return &swaps->entries[i];
}

static bool widen(struct cpi_swaps *swaps)
{
    struct cpi_swaps old = *swaps;
    size_t i;

    swaps->room = old.room != 0 ? 2 * old.room : CPI_SWAPS_FIRST;
    swaps->entries = cpi_os_map(swaps->room * sizeof(struct cpi_swap));
    if (swaps->entries == NULL) {
        *swaps = old;
        return false;
    }
    for (i = 0; i < old.room; i++)
        if (old.entries[i].slot != NULL)
            *find(swaps, old.entries[i].slot, old.entries[i].number) = old.entries[i];
    cpi_swaps_fini(&old);
    return true;
}

bool cpi_swaps_add(struct cpi_swaps *swaps, const void *slot, void *other)
{
    struct cpi_swap *first;
    struct cpi_swap *entry;

    if (2 * swaps->used >= swaps->room && !widen(swaps))
        return false;
    first = find(swaps, slot, 0);
    entry = find(swaps, slot, first->pairs);
    entry->slot = slot;
    entry->other = other;
    entry->number = first->pairs++;
    swaps->used++;
    return true;
}

void *cpi_swaps_take(struct cpi_swaps *swaps, const void *slot)
{
    struct cpi_swap *first;
    struct cpi_swap *entry;
    void *other;

    if (swaps->used == 0)
        return NULL;
    first = find(swaps, slot, 0);
    if (first->pairs == 0)
        return NULL;
    entry = find(swaps, slot, --first->pairs);
    other = entry->other;
    entry->other = NULL;
    return other;
}

void cpi_swaps_rewind(struct cpi_swaps *swaps)
{
    size_t i;

    for (i = 0; i < swaps->room; i++)
        swaps->entries[i].passed = 0;
}

bool cpi_swaps_pass(struct cpi_swaps *swaps, const void *slot)
{
    struct cpi_swap *first;

    if (swaps->used == 0)
        return false;
    first = find(swaps, slot, 0);
    if (first->passed == first->pairs)
        return false;
    first->passed++;
    return true;
}
