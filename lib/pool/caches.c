/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * caches.c - explicit caches.
 */
#include "base/tools.h"
#include "pool/alloc.h"

int cpool_cache_create(cpool_cache_t **cache, cpool_t *handle)
{
    static const char function[] = "cpool_cache_create";
    struct cpi_cache *added;
    struct cpi_pool *pool;
    int code;

    if (cache == NULL)
        return CPOOL_ENULL;
    *cache = NULL;
    cpi_tools_wrote(cache, sizeof(cpool_cache_t *));
    if (handle == NULL)
        return CPOOL_ENULL;
    pool = cpi_pool_of(handle, function);
    if (pool == NULL)
        return CPOOL_EPOOL;
    code = cpi_registry_add_cache(&pool->registry, &added);
    if (code == 0)
        *cache = added->entry;
    return code;
}

void cpool_cache_destroy(cpool_cache_t *entry)
{
    struct cpi_pool *pool = entry != NULL ? cpi_pool_of(entry->pool, "cpool_cache_destroy") : NULL;

    if (pool == NULL)
        return;
    cpi_registry_remove_cache(&pool->registry, entry->home);
    cpi_waiters_came(&pool->waiters);
}

void cpool_cache_flush(cpool_cache_t *entry)
{
    struct cpi_pool *pool = cpi_pool_of(entry->pool, "cpool_cache_flush");

    if (pool == NULL)
        return;
    cpi_cache_flush(entry->home);
    cpi_waiters_came(&pool->waiters);
}

void cpool_flush(cpool_t *handle)
{
    struct cpi_pool *pool = cpi_pool_of(handle, "cpool_flush");
    struct cpi_cache *cache;

    if (pool == NULL)
        return;
    cache = cpi_registry_known_cache(&pool->registry);
    if (cache != NULL)
        cpi_cache_flush(cache);
    cpi_waiters_came(&pool->waiters);
}
