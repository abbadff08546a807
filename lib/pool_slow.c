/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_slow.c - where the inline path ends: the loaded magazine is empty or full, or the
 * pool has no inline path.
 *
 * Floor 6.
 *
 * ORDERING TABLE
 *   own     | swaps and count load, count store that takes | relaxed | - | -
 *   show    | count store that gives | release | recall.c's forked | the round and its word
 *   leased  | leases load | relaxed | - | -
 *
 * [leased] A thread that frees a slot of a lease has learnt of the slot by synchronisation,
 * after the pool had its first lease, so it sees that there are leases.
 */
#include "pool_impl.h"

#include "atomic.h"
#include "cache_swap.h"
#include "quiet.h"
#include "recall.h"

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
    uintptr_t count = cpi_word_load(&entry->count, relaxed); /* [own] */
    uintptr_t index;
    void *slot;

    if (CPI_UNLIKELY(count == 0))
        return NULL;
    slot = entry->rounds[count - 1];
    index = cpi_slab_index(&pool->slab, slot);
    cpi_word_store(&entry->count, count - 1, relaxed); /* [own] */
    if (CPI_UNLIKELY(!cpi_slotmap_take(&pool->slotmap, index))) {
        cpi_word_store(&entry->count, count, relaxed); /* [own] */
        return NULL;
    }
    return slot;
}

CPI_WITHIN static inline bool give_tracked(const struct cpi_pool *pool, struct cpi_cache *cache,
                                           void *slot)
{
    cpool_cache_t *entry = &cache->hidden;
    uintptr_t count = cpi_word_load(&entry->count, relaxed); /* [own] */
    uintptr_t index = cpi_slab_index(&pool->slab, slot);

    if (CPI_UNLIKELY(index >= entry->bound || count >= entry->limit) ||
        CPI_UNLIKELY(cpi_load(&pool->leases, relaxed) != NULL) || /* [leased] */
        CPI_UNLIKELY(cpi_slotmap_give(&pool->slotmap, index) != CPI_SLOTMAP_LIVE_ONE))
        return false;
    entry->rounds[count] = slot;
    cpi_word_store(&entry->count, count + 1, release); /* [show] */
    return true;
}

/* Away from the two functions below, which then save no registers. */
CPI_COLD static void *alloc_at_length(struct cpi_pool *pool, const void *site)
{
    return cpi_pool_alloc(pool, cpi_registry_own_cache(&pool->registry), "cpool_alloc", site);
}

CPI_COLD static void free_at_length(struct cpi_pool *pool, void *slot, const void *site)
{
    cpi_pool_free(pool, cpi_registry_own_cache(&pool->registry), slot, "cpool_free", site);
}

/*
 * Where the inline path shows the loaded magazine, the shortest way is a swap with a
 * spare, the next one an exchange with the depot.  No thread locks such a cache, so the
 * mark is all that it takes to go inside.  The two swaps do the work of
 * cpi_cache_take_spare and cpi_cache_put_spare, and the first alloc or free of the other
 * magazine with it.  They leave every unusual case to the long way, before anything has
 * changed.
 */
static inline bool is_review_due(const struct cpi_cache *cache)
{
    uint64_t swaps = cpi_load(&cache->counters.swaps, relaxed) + 1; /* [own] */

    return swaps % CPI_REVIEW_SWAPS == 0;
}

static inline bool swap_and_take(struct cpi_cache *cache, void **slot)
{
    uint32_t stocked = stocked_spares(cache) - 1;
    struct cpi_magazine *magazine;
    uint32_t node;
    uint32_t left;

    if (CPI_UNLIKELY(stocked == UINT32_MAX || active_count(cache) != 0 || is_review_due(cache)))
        return false;
    cpi_recall_mark(cache);
    node = swap_newest(cache, stocked);
    if (CPI_LIKELY(node != 0)) {
        magazine = magazine_of(cache, node);
        CPI_ASSERT(cpi_magazine_count(magazine) == cache->depot->limit);
        left = cpi_magazine_count(magazine) - 1;
        *slot = magazine->rounds[left];
        show(cache, node, magazine, left);
        cpi_magazine_set_count(magazine, 0);
        set_stocked(cache, stocked);
        if (stocked < cache->lowest)
            cache->lowest = stocked;
        cpi_depot_account(&cache->counters.swaps, 1);
        CPI_ASSERT(cpi_cache_is_valid(cache));
    }
    cpi_recall_leave(cache);
    return node != 0;
}

CPI_APART static void *take_shown(struct cpi_pool *pool, struct cpi_cache *cache,
                                  const void *site)
{
    void *slot;

    cpi_pool_sample(pool, cache);
    cpi_recall_mark(cache);
    slot = cpi_cache_alloc(cache);
    cpi_recall_leave(cache);
    if (CPI_UNLIKELY(slot == NULL))
        return alloc_at_length(pool, site);
    cpi_quiet_report("cpool_alloc");
    return slot;
}

/* The tracked pools' way saves no registers for the others. */
CPI_APART static void *take_marked_or_any(struct cpi_pool *pool, struct cpi_cache *cache,
                                          const void *site)
{
    void *slot = take_marked(pool, cache);

    return CPI_LIKELY(slot != NULL) ? slot : alloc_at_length(pool, site);
}

CPI_APART static void *take_unshown(struct cpi_pool *pool, struct cpi_cache *cache,
                                    const void *site)
{
    void *slot = can_be_short(pool, cache) ? take_tracked(pool, cache) : NULL;

    return CPI_LIKELY(slot != NULL) ? slot : take_marked_or_any(pool, cache, site);
}

static inline bool swap_and_give(const struct cpi_pool *pool, struct cpi_cache *cache, void *slot)
{
    const cpool_cache_t *active = cpi_cache_active(cache);
    uintptr_t count = cpi_word_load(&active->count, relaxed); /* [own] */
    uint32_t stocked = stocked_spares(cache);
    struct cpi_magazine *full;
    uint32_t node;

    if (CPI_UNLIKELY(cpi_slab_index(&pool->slab, slot) >= active->bound || count == 0 ||
                     count < active->limit || stocked >= cache->target ||
                     is_review_due(cache) || cpi_depot_is_dry(&pool->depot)))
        return false;
    cpi_recall_mark(cache);
    full = magazine_of(cache, cpi_cache_loaded(cache));
    cpi_magazine_set_count(full, (uint32_t)count);
    node = swap_newest(cache, stocked);
    if (CPI_LIKELY(node != 0)) {
        struct cpi_magazine *magazine = magazine_of(cache, node);

        CPI_ASSERT(cpi_magazine_count(magazine) == 0);
        magazine->rounds[0] = slot;
        show(cache, node, magazine, 1);
        set_stocked(cache, stocked + 1);
        cpi_depot_account(&cache->counters.swaps, 1);
    } else {
        cpi_magazine_set_count(full, 0);
    }
    cpi_recall_leave(cache);
    return node != 0;
}

CPI_APART static void give_shown(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                                 const void *site)
{
    bool given;

    if (CPI_UNLIKELY(cpi_slab_index(&pool->slab, slot) >= cpi_cache_active(cache)->bound)) {
        free_at_length(pool, slot, site);
        return;
    }
    cpi_recall_mark(cache);
    given = cpi_cache_free(cache, slot);
    cpi_recall_leave(cache);
    if (CPI_UNLIKELY(!given))
        free_at_length(pool, slot, site); /* which reports it */
    else
        cpi_quiet_report("cpool_free");
}

CPI_APART static void give_marked_or_any(struct cpi_pool *pool, struct cpi_cache *cache,
                                         void *slot, const void *site)
{
    if (!give_marked(pool, cache, slot))
        free_at_length(pool, slot, site);
}

CPI_APART static void give_unshown(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                                   const void *site)
{
    if (CPI_UNLIKELY(!can_be_short(pool, cache) || !give_tracked(pool, cache, slot)))
        give_marked_or_any(pool, cache, slot, site);
}

CPI_APART static void *take_swapped(struct cpi_pool *pool, struct cpi_cache *cache,
                                    const void *site)
{
    void *slot;

    return CPI_LIKELY(swap_and_take(cache, &slot)) ? slot : take_shown(pool, cache, site);
}

static inline void *alloc_slow(struct cpi_pool *pool, struct cpi_cache *cache,
                               const void *site)
{
    if (CPI_UNLIKELY(cache == NULL || !pool->registry.inline_path))
        return take_unshown(pool, cache, site);
    return take_swapped(pool, cache, site);
}

CPI_APART static void give_swapped(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                                   const void *site)
{
    if (CPI_UNLIKELY(!swap_and_give(pool, cache, slot)))
        give_shown(pool, cache, slot, site);
}

static inline void free_slow(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                             const void *site)
{
    if (CPI_UNLIKELY(cache == NULL || !pool->registry.inline_path))
        give_unshown(pool, cache, slot, site);
    else
        give_swapped(pool, cache, slot, site);
}

/* At the end of the two functions below, which then save no registers. */
CPI_COLD static void *refuse(const cpool_t *handle, const char *function)
{
    cpi_pool_report_handle(function, handle);
    return NULL;
}

void *cpool_alloc_slow(cpool_t *handle)
{
    if (CPI_UNLIKELY(!cpi_handle_is_alive(handle)))
        return refuse(handle, "cpool_alloc");
    return alloc_slow(handle->state, cpi_thread_entry(handle)->home, CPI_CALLER());
}

void cpool_free_slow(cpool_t *handle, void *slot)
{
    if (CPI_UNLIKELY(!cpi_handle_is_alive(handle)))
        refuse(handle, "cpool_free");
    else
        free_slow(handle->state, cpi_thread_entry(handle)->home, slot, CPI_CALLER());
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

    if (handle == NULL)
        return NULL;
    return alloc_slow(handle->state, typed_cache(handle->state, entry), CPI_CALLER());
}

void cpool_typed_free_slow(void *slot, struct cpool_typed *typed, cpool_cache_t *entry)
{
    cpool_t *handle = slot != NULL ? cpool_typed_pool(typed) : NULL;

    if (handle != NULL)
        free_slow(handle->state, typed_cache(handle->state, entry), slot, CPI_CALLER());
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
        slot = cpi_pool_alloc(pool, cache, function, CPI_CALLER());
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
        cpi_pool_free(pool, cache, slot, function, CPI_CALLER());
}
