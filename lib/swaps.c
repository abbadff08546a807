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

/* The entry of a slot, or the unused one where it belongs. */
static struct cpi_swap *find(const struct cpi_swaps *swaps, const void *slot)
{
    uint64_t mixed = (uint64_t)(uintptr_t)slot * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(mixed >> 32) & (swaps->room - 1);

    while (swaps->entries[i].slot != NULL && swaps->entries[i].slot != slot)
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
            *find(swaps, old.entries[i].slot) = old.entries[i];
    cpi_swaps_fini(&old);
    return true;
}

bool cpi_swaps_add(struct cpi_swaps *swaps, const void *slot, void *other, bool *refused)
{
    struct cpi_swap *entry;

    *refused = 2 * swaps->used >= swaps->room && !widen(swaps);
    if (*refused)
        return false;
    entry = find(swaps, slot);
    if (entry->slot != NULL)
        return false;
    entry->slot = slot;
    entry->other = other;
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
