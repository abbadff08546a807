/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_forms.c - other forms of alloc and free: zeroed, with help, without a cache.
 *
 * Floor 6.
 */
#include "pool_impl.h"

#include <string.h>

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

void *cpool_calloc(cpool_t *pool)
{
    static const char function[] = "cpool_calloc";
    void *slot;

    if (!cpi_pool_is_ours(pool, function))
        return NULL;
    slot = pool->registry.inline_path
               ? cpool_alloc(pool)
               : cpi_pool_alloc(pool, cpi_registry_own_cache(&pool->registry), function,
                                CPI_CALLER());
    if (slot != NULL)
        clear(slot, pool->slab.slot_size);
    return slot;
}

void *cpool_alloc_or_help(cpool_t *pool, bool (*help)(void *arg), void *arg)
{
    static const char function[] = "cpool_alloc_or_help";
    struct cpi_cache *cache;
    void *slot;

    if (!cpi_pool_is_ours(pool, function))
        return NULL;
    cache = cpi_registry_own_cache(&pool->registry);
    do {
        slot = cpi_pool_alloc(pool, cache, function, CPI_CALLER());
        if (slot != NULL)
            return slot;
    } while (help(arg));
    return cpi_pool_alloc(pool, cache, function, CPI_CALLER());
}

void *cpool_depot_alloc(cpool_t *pool)
{
    static const char function[] = "cpool_depot_alloc";

    if (!cpi_pool_is_ours(pool, function))
        return NULL;
    return cpi_pool_alloc(pool, NULL, function, CPI_CALLER());
}

void cpool_depot_free(cpool_t *pool, void *slot)
{
    static const char function[] = "cpool_depot_free";

    if (cpi_pool_is_ours(pool, function))
        cpi_pool_free(pool, NULL, slot, function, CPI_CALLER());
}
