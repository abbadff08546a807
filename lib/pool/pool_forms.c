/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_forms.c - other forms of alloc and free: zeroed, without a cache, by address.
 */
#include "pool/pool_alloc.h"
#include "pool/report.h"

#include <string.h>

#include <cpool/pools.h>

#include "base/error.h"
#include "base/tools.h"
#include "process/addresses.h"

/* memset with what it costs to call it saved for small slots: by stores of fixed
 * size from both ends, which overlap in the middle. */
static void clear(char *slot, size_t size)
{
    if (size < 8 || size > 64) {
        memset(slot, 0, size);
    } else if (size <= 16) {
        memset(slot, 0, 8);
        memset(slot + size - 8, 0, 8);
    } else {
        memset(slot, 0, 16);
        memset(slot + size - 16, 0, 16);
        if (size > 32) {
            memset(slot + 16, 0, 16);
            memset(slot + size - 32, 0, 16);
        }
    }
}

void *cpool_calloc(cpool_t *handle)
{
    static const char function[] = "cpool_calloc";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    void *slot;

    if (pool == NULL)
        return NULL;
    slot = pool->registry.inline_path
               ? cpool_alloc(handle)
               : cpi_pool_alloc(pool, cpi_registry_own_cache(&pool->registry), CPI_CALL(function));
    if (slot != NULL) {
        clear(slot, pool->slab.slot_size);
        cpi_tools_wrote(slot, pool->slab.slot_size);
    }
    return slot;
}

void *cpool_depot_alloc(cpool_t *handle)
{
    static const char function[] = "cpool_depot_alloc";
    struct cpi_pool *pool = cpi_pool_of(handle, function);

    if (pool == NULL)
        return NULL;
    return cpi_pool_alloc(pool, NULL, CPI_CALL(function));
}

void cpool_depot_free(cpool_t *handle, void *slot)
{
    static const char function[] = "cpool_depot_free";
    struct cpi_pool *pool = cpi_pool_of(handle, function);

    if (pool != NULL)
        cpi_pool_free(pool, NULL, slot, CPI_CALL(function));
}

/* No slot of any pool begins at this address. */
CPI_COLD static void report_stray(const char *function, const void *address)
{
    cpool_t *handle = cpool_of(address, NULL);
    cpool_error_t error;

    if (handle != NULL) {
        const struct cpi_pool *pool = cpi_pool_at(handle);
        uintptr_t index;

        cpi_slab_place(&pool->slab, address, &index);
        cpi_pool_report_address(CPOOL_EMISALIGNED, function, pool, address, index);
        return;
    }
    memset(&error, 0, sizeof error);
    error.code = CPOOL_EFOREIGN;
    error.function = function;
    error.name = "";
    error.address = address;
    cpi_report(&error, "%s: the address lies outside all pools (address %p)", function, address);
}

void cpool_release(void *slot)
{
    cpool_t *handle = cpi_ranges_find((uintptr_t)slot);

    if (CPI_LIKELY(cpi_handle_slot(handle, (uintptr_t)slot) != UINTPTR_MAX))
        cpool_free(handle, slot);
    else if (slot != NULL)
        report_stray("cpool_release", slot);
}
