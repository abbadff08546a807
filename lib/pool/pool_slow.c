/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_slow.c - where the inline path ends: the loaded magazine is empty or full, or the
 * pool has no inline path.
 *
 * A cache that is shown swaps its loaded magazine.  Everything else takes the pool's way.
 */
#include "pool/pool_alloc.h"
#include "pool/pool_info.h"
#include "pool/pool_report.h"

#include "cache/cache_edge.h"
#include "cache/mark.h"

/*
 * The long ways: where the calling thread may have no cache yet, or the handle is none.  They
 * are apart from the short ones, which then save no registers for them.
 */
CPI_COLD static void *alloc_at_length(cpool_t *handle, struct cpi_call call)
{
    struct cpi_pool *pool = cpi_pool_of(handle, call.function);

    return pool != NULL ? cpi_pool_alloc(pool, cpi_registry_own_cache(&pool->registry), call)
                        : NULL;
}

CPI_COLD static void free_at_length(cpool_t *handle, void *slot, struct cpi_call call)
{
    struct cpi_pool *pool = cpi_pool_of(handle, call.function);

    if (pool != NULL)
        cpi_pool_free(pool, cpi_registry_own_cache(&pool->registry), slot, call);
}

/* --- Where the inline path shows the loaded magazine --- */

/* The pass through the cache, the depot and the fresh slots is done. */
CPI_COLD static void *search(struct cpi_cache *cache)
{
    return cache->registry->pool->way->search(cache->registry->pool, cache);
}

/* In any state of the cache. */
CPI_APART static void *take_shown(struct cpi_cache *cache)
{
    void *slot;

    cpi_pool_sample(cache->registry->pool, cache);
    cpi_mark_enter(cache);
    slot = cpi_cache_alloc(cache);
    cpi_mark_leave(cache);
    return CPI_LIKELY(slot != NULL) ? slot : search(cache);
}

/* Without a full spare.  Exchanges are sampled, too, which take_shown sees to. */
CPI_APART static void *take_exchanged(struct cpi_cache *cache)
{
    void **round;

    if (CPI_UNLIKELY(cpi_cache_stocked(cache) != 0 || cpi_cache_count(cache) != 0 ||
                     cache->until_count == 1))
        return take_shown(cache);
    cache->until_count--;
    cpi_mark_enter(cache);
    round = cpi_cache_refill_from_depot(cache, 1);
    cpi_mark_leave(cache);
    return CPI_LIKELY(round != NULL) ? *round : search(cache);
}

CPI_APART static void give_shown(struct cpi_cache *cache, void *slot, struct cpi_call call)
{
    bool given;

    if (CPI_UNLIKELY(cpi_slab_index(cache->slab, slot) >= cpi_cache_active(cache)->bound)) {
        free_at_length(cache->registry->handle, slot, call);
        return;
    }
    cpi_mark_enter(cache);
    given = cpi_cache_free(cache, slot);
    cpi_mark_leave(cache);
    if (CPI_UNLIKELY(!given))
        free_at_length(cache->registry->handle, slot, call); /* which reports it */
}

/* The loaded magazine is full, and there is no empty spare. */
CPI_APART static void give_exchanged(struct cpi_cache *cache, void *slot, struct cpi_call call)
{
    bool given;

    cpi_mark_enter(cache);
    given = cpi_cache_spill_to_depot(cache, slot);
    cpi_mark_leave(cache);
    if (CPI_UNLIKELY(!given))
        free_at_length(cache->registry->handle, slot, call);
}

/* --- The calling thread's own cache --- */

CPI_WITHIN static inline void *alloc_shown(struct cpi_cache *cache)
{
    uint32_t stocked = cpi_cache_stocked(cache);
    void **round;

    if (CPI_LIKELY(stocked != 0 && cpi_cache_count(cache) == 0 &&
                   !cpi_cache_is_review_near(cache))) {
        cpi_mark_enter(cache);
        round = cpi_cache_refill_from_spare(cache, stocked, 1);
        cpi_mark_leave(cache);
        if (CPI_LIKELY(round != NULL))
            return *round;
    }
    return take_exchanged(cache);
}

CPI_WITHIN static inline void free_shown(struct cpi_cache *cache, void *slot, const char *function,
                                         const void *site)
{
    uint32_t stocked = cpi_cache_stocked(cache);
    bool given = false;

    if (CPI_UNLIKELY(!cpi_cache_is_just_full(cache, slot))) {
        give_shown(cache, slot, (struct cpi_call){function, site});
        return;
    }
    if (CPI_LIKELY(stocked < cache->target)) {
        if (CPI_UNLIKELY(cpi_cache_is_review_near(cache))) {
            give_shown(cache, slot, (struct cpi_call){function, site});
            return;
        }
        cpi_mark_enter(cache);
        given = cpi_cache_spill_to_spare(cache, stocked, slot);
        cpi_mark_leave(cache);
    }
    if (CPI_UNLIKELY(!given))
        give_exchanged(cache, slot, (struct cpi_call){function, site});
}

/* The pool's way, but most operations of a bounded pool are no more than what comes before. */
CPI_WITHIN static inline void *alloc_hidden(cpool_t *handle, struct cpi_cache *cache,
                                            const char *function)
{
    void *slot;

    if (CPI_LIKELY(cache->bounded) && CPI_LIKELY(cpi_pool_pop(cache, &slot)))
        return slot;
    return cpi_pool_alloc(handle->state, cache, CPI_CALL(function));
}

CPI_WITHIN static inline void free_hidden(cpool_t *handle, void *slot, struct cpi_cache *cache,
                                          const char *function)
{
    uintptr_t index;

    if (CPI_LIKELY(cache->bounded)) {
        CPOOL_INDEX_(handle, slot, index);
        if (CPI_LIKELY(index < cache->hidden.bound) && CPI_LIKELY(cpi_pool_push(cache, slot)))
            return;
    }
    cpi_pool_free(handle->state, cache, slot, CPI_CALL(function));
}

static const char alloc_name[] = "cpool_alloc";
static const char free_name[] = "cpool_free";

/* An entry that is the pool's has a cache.  That of a thread without a cache or of a destroyed
 * pool is no pool's, and that of a lease another handle's.  The inline path has read the entry
 * already, so a wrong handle traps there or is noticed here. */
void *cpool_alloc_slow(cpool_t *handle)
{
    const cpool_cache_t *entry = cpi_thread_entry(handle);
    struct cpi_cache *cache = entry->home;

    if (CPI_UNLIKELY(entry->pool != handle))
        return alloc_at_length(handle, CPI_CALL(alloc_name));
    if (CPI_LIKELY(cache->shown))
        return alloc_shown(cache);
    return alloc_hidden(handle, cache, alloc_name);
}

void cpool_free_slow(cpool_t *handle, void *slot)
{
    const cpool_cache_t *entry = cpi_thread_entry(handle);
    struct cpi_cache *cache = entry->home;

    if (CPI_UNLIKELY(entry->pool != handle))
        free_at_length(handle, slot, CPI_CALL(free_name));
    else if (CPI_LIKELY(cache->shown))
        free_shown(cache, slot, free_name, CPI_CALLER());
    else
        free_hidden(handle, slot, cache, free_name);
}

/* --- Typed pools --- */

/* The calling thread's cache shows its loaded magazine in this entry from now on. */
CPI_COLD static struct cpi_cache *adopt_entry(struct cpi_pool *pool, cpool_cache_t *entry)
{
    struct cpi_cache *cache = cpi_registry_own_cache(&pool->registry);

    if (cache != NULL && pool->shows_typed && cpi_cache_active(cache) != entry) {
        cpi_mark_enter(cache);
        cpi_cache_show_typed(cache, entry);
        cpi_mark_leave(cache);
    }
    return cache;
}

/* The thread's first operation in the pool, which is opened if need be. */
CPI_COLD static void *typed_alloc_at_length(struct cpool_typed *typed, cpool_cache_t *entry,
                                            struct cpi_call call)
{
    cpool_t *handle = cpool_typed_pool(typed);

    return handle == NULL
               ? NULL
               : cpi_pool_alloc(handle->state, adopt_entry(handle->state, entry), call);
}

CPI_COLD static void typed_free_at_length(struct cpool_typed *typed, cpool_cache_t *entry,
                                          void *slot, struct cpi_call call)
{
    cpool_t *handle = slot != NULL ? cpool_typed_pool(typed) : NULL;

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

void *cpool_typed_alloc_slow(struct cpool_typed *typed, cpool_cache_t *entry)
{
    cpool_t *handle = cpi_typed_opened(typed);
    struct cpi_cache *cache = typed_cache(handle, entry);

    if (CPI_UNLIKELY(cache == NULL))
        return typed_alloc_at_length(typed, entry, CPI_CALL(typed->functions->alloc));
    if (CPI_LIKELY(cache->shown))
        return alloc_shown(cache);
    return alloc_hidden(handle, cache, typed->functions->alloc);
}

void cpool_typed_free_slow(void *slot, struct cpool_typed *typed, cpool_cache_t *entry)
{
    cpool_t *handle = cpi_typed_opened(typed);
    struct cpi_cache *cache = slot != NULL ? typed_cache(handle, entry) : NULL;

    if (CPI_UNLIKELY(cache == NULL))
        typed_free_at_length(typed, entry, slot, CPI_CALL(typed->functions->free));
    else if (CPI_LIKELY(cache->shown))
        free_shown(cache, slot, typed->functions->free, CPI_CALLER());
    else
        free_hidden(handle, slot, cache, typed->functions->free);
}

/* --- Explicit caches --- */

/* Whether the calling thread may use the cache.  Only checked pools ask for its owner. */
static inline bool owner_is_right(const struct cpi_pool *pool, const struct cpi_cache *cache,
                                  const char *function)
{
    if (CPI_LIKELY(!pool->checked) || cache->owner == NULL || cache->owner == cpi_thread_known())
        return true;
    cpi_pool_report(CPOOL_EOWNER, function, pool);
    return false;
}

/* That of a cache that has ended is none. */
void *cpool_cache_alloc_slow(cpool_cache_t *entry)
{
    static const char function[] = "cpool_cache_alloc";
    struct cpi_pool *pool = cpi_pool_of(entry->pool, function);
    struct cpi_cache *cache = entry->home;

    if (pool == NULL)
        return NULL;
    cpi_mark_use(cache);
    return owner_is_right(pool, cache, function) ? alloc_hidden(entry->pool, cache, function)
                                                 : NULL;
}

void cpool_cache_free_slow(cpool_cache_t *entry, void *slot)
{
    static const char function[] = "cpool_cache_free";
    struct cpi_pool *pool = cpi_pool_of(entry->pool, function);
    struct cpi_cache *cache = entry->home;

    if (pool == NULL)
        return;
    cpi_mark_use(cache);
    if (owner_is_right(pool, cache, function))
        free_hidden(entry->pool, slot, cache, function);
}
