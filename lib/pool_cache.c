/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_cache.c - the handles of caches.
 *
 * Floor 6.
 */
#include "pool_impl.h"

#include "quiet.h"
#include "recall.h"

cpool_cache_t *cpool_cache(cpool_t *pool)
{
    struct cpi_cache *cache;

    if (!cpi_pool_is_ours(pool, "cpool_cache"))
        return NULL;
    cpi_thread_ask_at_once();
    cache = cpi_registry_own_cache(&pool->registry);
    cpi_quiet_report("cpool_cache");
    return cache == NULL ? NULL : cache->entry;
}

int cpool_cache_create(cpool_cache_t **handle, cpool_t *pool)
{
    struct cpi_cache *cache;

    if (handle == NULL)
        return CPOOL_ENULL;
    *handle = NULL;
    if (pool == NULL)
        return CPOOL_ENULL;
    if (!cpi_pool_is_ours(pool, "cpool_cache_create"))
        return CPOOL_EPOOL;
    cache = cpi_registry_add_cache(&pool->registry);
    cpi_quiet_report("cpool_cache_create");
    if (cache == NULL)
        return CPOOL_ENOMEM;
    *handle = cache->entry;
    return 0;
}

void cpool_cache_destroy(cpool_cache_t *entry)
{
    struct cpi_cache *cache;
    cpool_t *pool;

    if (entry == NULL)
        return;
    cache = entry->home;
    pool = entry->pool;
    if (!cpi_pool_is_ours(pool, "cpool_cache_destroy"))
        return;
    if (cache->owner != NULL) {
        cpi_pool_report(CPOOL_EOWNER, "cpool_cache_destroy", pool);
        return;
    }
    cpi_recall_use(cache);
    cpi_registry_remove_cache(cache->registry, cache);
    cpi_pool_wake_waiters(pool);
    cpi_quiet_report("cpool_cache_destroy");
}

void cpool_flush(cpool_t *pool)
{
    struct cpi_cache *cache;

    if (!cpi_pool_is_ours(pool, "cpool_flush"))
        return;
    cache = cpi_registry_known_cache(&pool->registry);
    if (cache != NULL)
        cpi_recall_flush(cache);
    cpi_pool_wake_waiters(pool);
    cpi_quiet_report("cpool_flush");
}
