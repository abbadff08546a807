/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_shown.c - where the inline path of plain typed pools ends.
 *
 * The thread's own variable is the entry in which its cache shows the loaded magazine.
 */
#include "pool/pool_alloc.h"
#include "pool/pool_report.h"

#include "cache/mark.h"

/* The calling thread's cache shows its loaded magazine in this entry from now on. */
CPI_COLD static struct cpi_cache *adopt_entry(struct cpi_pool *pool, cpool_cache_t *entry)
{
    struct cpi_cache *cache = cpi_registry_own_cache(&pool->registry);

    if (cache != NULL && pool->shows_typed && cpi_cache_active(cache) != entry) {
        cpi_mark_enter(cache);
        cpi_cache_show_typed(cache, entry);
        cache->brief = cpi_general_brief;
        cpi_mark_leave(cache);
    }
    return cache;
}

/* The thread's first operation in the pool, which is opened if need be. */
CPI_COLD static void *typed_alloc_at_length(struct cpool_typed *typed, cpool_cache_t *entry,
                                            struct cpi_call call)
{
    cpool_t *handle = cpool_typed_pool_abi3(typed);

    return handle == NULL
               ? NULL
               : cpi_pool_alloc(handle->state, adopt_entry(handle->state, entry), call);
}

CPI_COLD static void typed_free_at_length(struct cpool_typed *typed, cpool_cache_t *entry,
                                          void *slot, struct cpi_call call)
{
    cpool_t *handle = slot != NULL ? cpool_typed_pool_abi3(typed) : NULL;

    if (handle != NULL)
        cpi_pool_free(handle->state, adopt_entry(handle->state, entry), slot, call);
}

/* That of the thread, in this entry if the inline path uses it.  NULL: at length. */
CPI_WITHIN static inline struct cpi_cache *typed_cache(const cpool_t *handle,
                                                       const cpool_cache_t *entry)
{
    struct cpi_cache *cache = CPI_LIKELY(handle != NULL) ? cpi_thread_entry(handle)->home : NULL;

    return CPI_LIKELY(cache != NULL && (!cache->shown || cpi_cache_active(cache) == entry))
               ? cache
               : NULL;
}

void *cpool_typed_alloc_abi3(struct cpool_typed *typed, cpool_cache_t *entry)
{
    cpool_t *handle = cpi_typed_opened(typed);
    struct cpi_cache *cache = typed_cache(handle, entry);

    if (CPI_UNLIKELY(cache == NULL))
        return typed_alloc_at_length(typed, entry, CPI_CALL(typed->functions->alloc));
    if (CPI_LIKELY(cache->shown))
        return cpi_pool_alloc_shown(cache, entry);
    return cpi_pool_alloc(handle->state, cache, CPI_CALL(typed->functions->alloc));
}

/* The index is right where the entry shows magazines. */
void cpool_typed_free_abi3(void *slot, struct cpool_typed *typed, cpool_cache_t *entry,
                           uintptr_t index)
{
    cpool_t *handle = cpi_typed_opened(typed);
    struct cpi_cache *cache = slot != NULL ? typed_cache(handle, entry) : NULL;

    if (CPI_UNLIKELY(cache == NULL))
        typed_free_at_length(typed, entry, slot, CPI_CALL(typed->functions->free));
    else if (CPI_LIKELY(cache->shown))
        cpi_pool_free_shown(cache, slot, index, CPI_CALL(typed->functions->free));
    else
        cpi_pool_free(handle->state, cache, slot, CPI_CALL(typed->functions->free));
}
