/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_slow.c - where the inline path ends: the loaded magazine is empty or full, or the
 * pool has no inline path.
 *
 * ORDERING TABLE
 *   leased  | leases load | relaxed | - | -
 *
 * [leased] A thread that frees a slot of a lease has learnt of the slot by synchronisation,
 * after the pool had its first lease, so it sees that there are leases.
 */
#include "pool/pool_alloc.h"
#include "pool/pool_info.h"
#include "pool/pool_report.h"

#include "base/atomic.h"
#include "cache/cache_edge.h"
#include "cache/recall.h"

/*
 * The common case of exact pools, which have no inline path: a round, or room
 * for one, in the loaded magazine, and nothing else to be done about it.  NULL,
 * and false: the long way.
 */
static inline void *take_marked(const struct cpi_pool *pool, struct cpi_cache *cache)
{
    void *slot;

    if (cache == NULL || !pool->only_marked || !cpi_recall_enter(cache))
        return NULL;
    slot = cpi_cache_pop(cache);
    cpi_recall_leave(cache);
    return slot;
}

static inline bool give_marked(const struct cpi_pool *pool, struct cpi_cache *cache, void *slot)
{
    bool given;

    if (cache == NULL || !pool->only_marked ||
        cpi_slab_index(&pool->slab, slot) >= cpi_cache_active(cache)->bound ||
        !cpi_recall_enter(cache))
        return false;
    given = cpi_cache_push(cache, slot);
    cpi_recall_leave(cache);
    return given;
}

/*
 * The common case of pools that are tracked and nothing else.  The loaded magazine is used
 * as on the inline path, without a mark, and the slot's word changes with it.  A thread
 * that vanishes in a fork between the two stores of take_tracked leaves a slot that is
 * neither live nor free, and never one that is both.  NULL, and false: the long way.
 */
static inline bool can_be_short(const struct cpi_pool *pool, const struct cpi_cache *cache)
{
    return CPI_LIKELY(pool->only_tracked) && cache != NULL;
}

CPI_WITHIN static inline void *take_tracked(const struct cpi_pool *pool, struct cpi_cache *cache)
{
    cpool_cache_t *entry = &cache->hidden;
    void *slot;

    CPI_POP(entry, slot, return NULL);
    if (CPI_LIKELY(cpi_slotmap_take(&pool->slotmap, cpi_slab_index(&pool->slab, slot))))
        return slot;
    CPI_PUSH(entry, slot, true, true, (void)0); /* for the long way */
    return NULL;
}

CPI_WITHIN static inline bool give_tracked(const struct cpi_pool *pool, struct cpi_cache *cache,
                                           void *slot)
{
    cpool_cache_t *entry = &cache->hidden;
    uintptr_t index = cpi_slab_index(&pool->slab, slot);

    CPI_PUSH(entry, slot, index < entry->bound,
             cpi_load(&pool->leases, relaxed) == NULL && /* [leased] */
                 cpi_slotmap_give(&pool->slotmap, index) == CPI_SLOTMAP_LIVE_ONE,
             return false);
    return true;
}

/*
 * The long ways, apart from the short ones, which then save no registers for them.
 */
CPI_COLD static void *alloc_at_length(struct cpi_pool *pool, struct cpi_call call)
{
    return cpi_pool_alloc(pool, cpi_registry_own_cache(&pool->registry), call);
}

CPI_COLD static void free_at_length(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    cpi_pool_free(pool, cpi_registry_own_cache(&pool->registry), slot, call);
}

/* --- Where the inline path shows the loaded magazine --- */

CPI_APART static void *take_shown(struct cpi_cache *cache, struct cpi_call call)
{
    struct cpi_pool *pool = cache->registry->pool;
    void *slot;

    cpi_pool_sample(pool, cache);
    cpi_recall_mark(cache);
    slot = cpi_cache_alloc(cache);
    cpi_recall_leave(cache);
    if (CPI_UNLIKELY(slot == NULL))
        return alloc_at_length(pool, call);
    return slot;
}

/* Exchanges are sampled, too, which take_shown sees to. */
CPI_APART static void *take_exchanged(struct cpi_cache *cache, struct cpi_call call)
{
    void *slot = NULL;

    if (CPI_LIKELY(--cache->until_count > 0))
        slot = cpi_cache_exchange_and_take(cache);
    if (CPI_LIKELY(slot != NULL))
        return slot;
    cache->until_count++; /* take_shown counts it */
    return take_shown(cache, call);
}

CPI_APART static void give_shown(struct cpi_cache *cache, void *slot, struct cpi_call call)
{
    struct cpi_pool *pool = cache->registry->pool;
    bool given;

    if (CPI_UNLIKELY(cpi_slab_index(cache->slab, slot) >= cpi_cache_active(cache)->bound)) {
        free_at_length(pool, slot, call);
        return;
    }
    cpi_recall_mark(cache);
    given = cpi_cache_free(cache, slot);
    cpi_recall_leave(cache);
    if (CPI_UNLIKELY(!given))
        free_at_length(pool, slot, call); /* which reports it */
}

CPI_APART static void give_exchanged(struct cpi_cache *cache, void *slot, struct cpi_call call)
{
    if (CPI_UNLIKELY(!cpi_cache_exchange_and_give(cache, slot)))
        give_shown(cache, slot, call);
}

/* --- Where it does not --- */

/* The tracked pools' way saves no registers for the others. */
CPI_APART static void *take_marked_or_any(struct cpi_pool *pool, struct cpi_cache *cache,
                                          struct cpi_call call)
{
    void *slot = take_marked(pool, cache);

    return CPI_LIKELY(slot != NULL) ? slot : alloc_at_length(pool, call);
}

CPI_WITHIN static inline void *take_unshown(struct cpi_pool *pool, struct cpi_cache *cache,
                                            struct cpi_call call)
{
    void *slot = can_be_short(pool, cache) ? take_tracked(pool, cache) : NULL;

    return CPI_LIKELY(slot != NULL) ? slot : take_marked_or_any(pool, cache, call);
}

CPI_APART static void give_marked_or_any(struct cpi_pool *pool, struct cpi_cache *cache,
                                         void *slot, struct cpi_call call)
{
    if (!give_marked(pool, cache, slot))
        free_at_length(pool, slot, call);
}

CPI_WITHIN static inline void give_unshown(struct cpi_pool *pool, struct cpi_cache *cache,
                                           void *slot, struct cpi_call call)
{
    if (CPI_UNLIKELY(!can_be_short(pool, cache) || !give_tracked(pool, cache, slot)))
        give_marked_or_any(pool, cache, slot, call);
}

/* The same for two functions, which have their names in no register then. */
static const char alloc_name[] = "cpool_alloc";
static const char free_name[] = "cpool_free";

CPI_APART static void *take_unshown_by_handle(struct cpi_pool *pool, struct cpi_cache *cache,
                                              const void *site)
{
    return take_unshown(pool, cache, (struct cpi_call){alloc_name, site});
}

CPI_APART static void give_unshown_by_handle(struct cpi_pool *pool, struct cpi_cache *cache,
                                             void *slot, const void *site)
{
    give_unshown(pool, cache, slot, (struct cpi_call){free_name, site});
}

/* --- The calling thread's own cache --- */

static inline bool is_shown(const struct cpi_cache *cache)
{
    return CPI_LIKELY(cache != NULL && cache->shown);
}

CPI_WITHIN static inline void *alloc_shown(struct cpi_cache *cache, struct cpi_call call)
{
    void *slot = cpi_cache_swap_and_take(cache);

    return CPI_LIKELY(slot != NULL) ? slot : take_exchanged(cache, call);
}

CPI_WITHIN static inline void free_shown(struct cpi_cache *cache, void *slot, const char *function,
                                         const void *site)
{
    if (CPI_UNLIKELY(!cpi_cache_is_just_full(cache, slot)))
        give_shown(cache, slot, (struct cpi_call){function, site});
    else if (CPI_UNLIKELY(!cpi_cache_swap_and_give(cache, slot)))
        give_exchanged(cache, slot, (struct cpi_call){function, site});
}

/* At the end of the two functions below, which then save no registers. */
CPI_COLD static void *refuse(const cpool_t *handle, const char *function)
{
    cpi_pool_report_handle(function, handle);
    return NULL;
}

void *cpool_alloc_slow(cpool_t *handle)
{
    struct cpi_cache *cache;

    if (CPI_UNLIKELY(!cpi_handle_is_one(handle)))
        return refuse(handle, alloc_name);
    cache = cpi_thread_entry(handle)->home;
    if (is_shown(cache)) /* so there is a pool */
        return alloc_shown(cache, CPI_CALL(alloc_name));
    if (CPI_UNLIKELY(handle->state == NULL))
        return refuse(handle, alloc_name);
    return take_unshown_by_handle(handle->state, cache, CPI_CALLER());
}

void cpool_free_slow(cpool_t *handle, void *slot)
{
    struct cpi_cache *cache;

    if (CPI_UNLIKELY(!cpi_handle_is_one(handle))) {
        refuse(handle, free_name);
        return;
    }
    cache = cpi_thread_entry(handle)->home;
    if (is_shown(cache))
        free_shown(cache, slot, free_name, CPI_CALLER());
    else if (CPI_UNLIKELY(handle->state == NULL))
        refuse(handle, free_name);
    else
        give_unshown_by_handle(handle->state, cache, slot, CPI_CALLER());
}

/* --- Typed pools --- */

/* The calling thread's cache shows its loaded magazine in this entry from now on. */
CPI_COLD static struct cpi_cache *adopt_entry(struct cpi_pool *pool, cpool_cache_t *entry)
{
    struct cpi_cache *cache = cpi_registry_own_cache(&pool->registry);

    if (cache != NULL && pool->shows_typed && cpi_cache_active(cache) != entry) {
        cpi_recall_mark(cache);
        cpi_cache_show_typed(cache, entry);
        cpi_recall_leave(cache);
    }
    return cache;
}

static inline struct cpi_cache *typed_cache(struct cpi_pool *pool, cpool_cache_t *entry)
{
    struct cpi_cache *cache = cpi_thread_entry(pool->handle)->home;

    if (CPI_LIKELY(cache != NULL && cpi_cache_active(cache) == entry))
        return cache;
    return adopt_entry(pool, entry);
}

void *cpool_typed_alloc_slow(struct cpool_typed *typed, cpool_cache_t *entry)
{
    cpool_t *handle = cpool_typed_pool(typed);
    struct cpi_cache *cache;

    if (handle == NULL)
        return NULL;
    cache = typed_cache(handle->state, entry);
    if (is_shown(cache))
        return alloc_shown(cache, CPI_CALL(typed->functions->alloc));
    return take_unshown(handle->state, cache, CPI_CALL(typed->functions->alloc));
}

void cpool_typed_free_slow(void *slot, struct cpool_typed *typed, cpool_cache_t *entry)
{
    cpool_t *handle = slot != NULL ? cpool_typed_pool(typed) : NULL;
    struct cpi_cache *cache;

    if (handle == NULL)
        return;
    cache = typed_cache(handle->state, entry);
    if (is_shown(cache))
        free_shown(cache, slot, typed->functions->free, CPI_CALLER());
    else
        give_unshown(handle->state, cache, slot, CPI_CALL(typed->functions->free));
}

/* --- Explicit caches --- */

/* Whether the calling thread may use the cache.  Only checked pools come here
 * often enough to ask for its owner. */
static bool owner_is_right(const struct cpi_pool *pool, const struct cpi_cache *cache,
                           const char *function)
{
    if (!pool->checked || cache->owner == NULL || cache->owner == cpi_thread_known())
        return true;
    cpi_pool_report(CPOOL_EOWNER, function, pool);
    return false;
}

/* That of a cache that has ended is none. */
void *cpool_cache_alloc_slow(cpool_cache_t *entry)
{
    static const char function[] = "cpool_cache_alloc";
    struct cpi_pool *pool = cpi_pool_of(entry->pool, function);
    struct cpi_cache *cache;
    void *slot;

    if (pool == NULL)
        return NULL;
    cache = entry->home;
    cpi_recall_use(cache);
    slot = can_be_short(pool, cache) ? take_tracked(pool, cache) : take_marked(pool, cache);
    if (slot == NULL && owner_is_right(pool, cache, function))
        slot = cpi_pool_alloc(pool, cache, CPI_CALL(function));
    return slot;
}

void cpool_cache_free_slow(cpool_cache_t *entry, void *slot)
{
    static const char function[] = "cpool_cache_free";
    struct cpi_pool *pool = cpi_pool_of(entry->pool, function);
    struct cpi_cache *cache;

    if (pool == NULL)
        return;
    cache = entry->home;
    cpi_recall_use(cache);
    if (can_be_short(pool, cache) ? give_tracked(pool, cache, slot)
                                  : give_marked(pool, cache, slot))
        return;
    if (owner_is_right(pool, cache, function))
        cpi_pool_free(pool, cache, slot, CPI_CALL(function));
}
