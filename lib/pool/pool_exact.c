/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_exact.c - where the inline paths of exact and waitable typed pools end.
 *
 * The thread's variable points to the entry of its cache that other
 * threads may lock, if the marks of the inline path are those of a short way (mark.h) and its
 * numbers are the pool's.  Otherwise it points to an entry of the cache that is in no use, for no
 * other thread writes that line.  The cache's end puts it back (registry.c).
 */
#include "pool/pool_alloc.h"
#include "pool/pool_report.h"

/* Whether the marks of the inline path are those of a short way of this cache, and those that wait
 * are told of. */
static bool is_fit(const struct cpi_cache *cache, const struct cpool_typed *typed)
{
    bool tells = (typed->functions->flags & CPOOL_WAITABLE) != 0;

    return cache->bounded || (cache->registry->tells && tells);
}

/* Makes the thread's cache, and points to it, in the pool that is opened if need be. */
CPI_COLD static struct cpi_cache *adopt(const struct cpool_typed *typed, struct cpi_pool *pool,
                                        cpool_cache_t **entry)
{
    struct cpi_cache *cache = cpi_registry_own_cache(&pool->registry);

    if (cache == NULL || cache->pointer == entry || typed->none == NULL)
        return cache;
    cache->pointer = entry;
    cache->none = typed->none;
    *entry = is_fit(cache, typed) && pool->slab.stride == typed->slot_size ? &cache->hidden
                                                                           : &cache->own;
    return cache;
}

/* The thread's cache, to which its variable points, or NULL. */
CPI_WITHIN static inline struct cpi_cache *pointed(const cpool_t *handle,
                                                   cpool_cache_t *const *entry)
{
    struct cpi_cache *cache = CPI_LIKELY(handle != NULL) ? cpi_thread_entry(handle)->home : NULL;

    return CPI_LIKELY(cache != NULL && cache->pointer == entry) ? cache : NULL;
}

void *cpool_typed_exact_alloc_abi3(struct cpool_typed *typed, cpool_cache_t **entry)
{
    cpool_t *handle = cpi_typed_opened(typed);
    struct cpi_cache *cache = pointed(handle, entry);

    if (CPI_UNLIKELY(cache == NULL)) {
        handle = cpool_typed_pool_abi3(typed);
        if (handle == NULL)
            return NULL;
        cache = adopt(typed, handle->state, entry);
    }
    return cpi_pool_alloc(handle->state, cache, CPI_CALL(typed->functions->alloc));
}

void cpool_typed_exact_free_abi3(void *slot, struct cpool_typed *typed, cpool_cache_t **entry)
{
    cpool_t *handle = cpi_typed_opened(typed);
    struct cpi_cache *cache = pointed(handle, entry);

    if (CPI_UNLIKELY(slot == NULL))
        return;
    if (CPI_UNLIKELY(cache == NULL)) {
        handle = cpool_typed_pool_abi3(typed);
        if (handle == NULL)
            return;
        cache = adopt(typed, handle->state, entry);
    }
    cpi_pool_free(handle->state, cache, slot, CPI_CALL(typed->functions->free));
}

void *cpool_typed_asked_abi3(void *slot, struct cpool_typed *typed)
{
    cpool_t *handle = cpi_typed_opened(typed);

    if (handle == NULL)
        return slot;
    if (slot != NULL) /* the pool is there as long as the slot is live */
        cpi_pool_came(handle->state, cpi_thread_entry(handle)->home);
    else
        cpi_pool_tell(handle, CPI_CALL(typed->functions->free));
    return slot;
}
