/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swaps.c - the hash table of slots that take the place of others.
 */
#include "swaps.h"

#include <stdint.h>

#include "os.h"

/* Entries of the first table: one page or little more. */
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

/* Where the search for a slot begins. */
static size_t first_of(const struct cpi_swaps *swaps, const void *slot)
{
    uint64_t mixed = (uint64_t)(uintptr_t)slot * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(mixed >> 32) & (swaps->room - 1);
}

/* An entry of a slot that has not been taken, or the unused one where it belongs. */
static struct cpi_swap *find(const struct cpi_swaps *swaps, const void *slot)
{
    size_t i = first_of(swaps, slot);

    while (swaps->entries[i].slot != NULL &&
           (swaps->entries[i].slot != slot || swaps->entries[i].other == NULL))
        i = (i + 1) & (swaps->room - 1);
    return &swaps->entries[i];
}

static void put(struct cpi_swaps *swaps, const void *slot, void *other)
{
    size_t i = first_of(swaps, slot);

    while (swaps->entries[i].slot != NULL)
        i = (i + 1) & (swaps->room - 1);
    swaps->entries[i].slot = slot;
    swaps->entries[i].other = other;
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
            put(swaps, old.entries[i].slot, old.entries[i].other);
    cpi_swaps_fini(&old);
    return true;
}

bool cpi_swaps_add(struct cpi_swaps *swaps, const void *slot, void *other)
{
    if (2 * swaps->used >= swaps->room && !widen(swaps))
        return false;
    put(swaps, slot, other);
    swaps->used++;
    return true;
}

void *cpi_swaps_take(struct cpi_swaps *swaps, const void *slot)
{
    struct cpi_swap *entry = find(swaps, slot);
    void *other = entry->other;

    entry->other = NULL;
    return other;
}
