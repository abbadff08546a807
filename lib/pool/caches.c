/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * caches.c - explicit caches, and the slow paths of their alloc and free.
 */
#include "base/tools.h"
#include "pool/alloc.h"

cpool_cache_t *cpool_cache(cpool_t *handle)
{
    struct cpi_pool *pool = cpi_pool_of(handle, "cpool_cache");
    struct cpi_cache *cache;

    if (pool == NULL)
        return NULL;
    cpi_thread_pause_asking(0);
    cache = cpi_registry_own_cache(&pool->registry);
    return cache == NULL ? NULL : cache->entry;
}

int cpool_cache_create(cpool_cache_t **cache, cpool_t *handle)
{
    static const char function[] = "cpool_cache_create";
    struct cpi_cache *added;
    struct cpi_pool *pool;

    if (cache == NULL)
        return CPOOL_ENULL;
    *cache = NULL;
    cpi_tools_wrote(cache, sizeof(cpool_cache_t *));
    if (handle == NULL)
        return CPOOL_ENULL;
    pool = cpi_pool_of(handle, function);
    if (pool == NULL)
        return CPOOL_EPOOL;
    added = cpi_registry_add_cache(&pool->registry);
    if (added == NULL)
        return CPOOL_ENOMEM;
    *cache = added->entry;
    return 0;
}

void cpool_cache_destroy(cpool_cache_t *entry)
{
    static const char function[] = "cpool_cache_destroy";
    struct cpi_cache *cache;
    struct cpi_pool *pool;

    if (entry == NULL)
        return;
    pool = cpi_pool_of(entry->pool, function);
    if (pool == NULL)
        return;
    cache = entry->home;
    if (cache->owner != NULL) {
        cpi_pool_report(CPOOL_EOWNER, function, pool);
        return;
    }
    cpi_registry_remove_cache(&pool->registry, cache);
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

/* --- Where the inline path fails --- */

/* Only checked pools verify the owner. */
static inline bool may_use_cache(const struct cpi_pool *pool, const struct cpi_cache *cache,
                                  const char *function)
{
    if (CPI_LIKELY(!pool->checked) || cache->owner == NULL || cache->owner == cpi_thread_known())
        return true;
    cpi_pool_report(CPOOL_EOWNER, function, pool);
    return false;
}

/* After the cache has been destroyed, entry->pool is not a pool. */
void *cpi_pool_cache_alloc(cpool_cache_t *entry, struct cpi_call call)
{
    struct cpi_pool *pool = cpi_pool_of(entry->pool, call.function);
    struct cpi_cache *cache = entry->home;

    return pool != NULL && may_use_cache(pool, cache, call.function)
               ? cpi_pool_alloc(pool, cache, call)
               : NULL;
}

void cpi_pool_cache_free(cpool_cache_t *entry, void *slot, struct cpi_call call)
{
    struct cpi_pool *pool = cpi_pool_of(entry->pool, call.function);
    struct cpi_cache *cache = entry->home;

    if (pool != NULL && may_use_cache(pool, cache, call.function))
        cpi_pool_free(pool, cache, slot, call);
}
