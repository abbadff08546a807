/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pools.c - the pools of the process, by address.
 *
 * Floor 6.
 */
#include "pool_impl.h"

#include <cpool/pools.h>

#include "ranges.h"

cpool_t *cpool_of(const void *slot)
{
    cpool_t *handle = cpi_ranges_find((uintptr_t)slot);

    return cpi_handle_slot(handle, (uintptr_t)slot) != UINTPTR_MAX ? handle : NULL;
}

cpool_t *cpool_around(const void *address, void **slot)
{
    cpool_t *handle = cpi_ranges_find((uintptr_t)address);
    uintptr_t found = 0;

    if (cpi_handle_slot_around(handle, (uintptr_t)address, &found) == UINTPTR_MAX)
        handle = NULL;
    if (slot != NULL)
        *slot = handle != NULL ? (void *)found : NULL;
    return handle;
}

void cpool_release(void *slot)
{
    cpool_t *handle = cpool_of(slot);

    if (CPI_LIKELY(handle != NULL))
        cpool_free(handle, slot);
    else if (slot != NULL)
        cpi_pool_report_stray("cpool_release", slot);
}
