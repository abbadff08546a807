/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_slow.c - where the inline path ends: the loaded magazine is empty or full, or the
 * pool has no inline path.
 *
 * A cache that is shown swaps its loaded magazine.  Everything else takes the pool's way.
 *
 * ORDERING TABLE
 *   own  | entry count load | relaxed | - | -
 *   mark | calls store 1 | relaxed | - | -
 *   rest | calls store 0 | release | steal.c's inside, registry.c's calls | the owner's last access
 *
 * [mark] The library's lock orders it before the look of a thread that destroys the pool.
 */
#include "pool/pool_alloc.h"
#include "pool/pool_info.h"
#include "pool/pool_report.h"
#include "pool/layer.h"

#include "base/atomic.h"
#include "cache/cache_edge.h"
#include "cache/mark.h"

/*
 * The long ways: where the calling thread may have no cache yet, or the handle is none, or the
 * entry of an explicit cache.  They are apart from the short ones, which then save no registers for
 * them.
 */
CPI_COLD static void *alloc_at_length(cpool_t *handle, cpool_cache_t *entry, struct cpi_call call)
{
    struct cpi_pool *pool;

    if ((void *)handle == entry)
        return cpi_pool_cache_alloc(entry, (struct cpi_call){"cpool_cache_alloc", call.site});
    pool = cpi_pool_of(handle, call.function);
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
    return cpi_pool_look_again(cache->registry->pool, cache);
}

/* In any state of the cache. */
CPI_APART static void *take_shown(struct cpi_cache *cache)
{
    void *slot;

    cpi_pool_note_exchange(cache->registry->pool, cache);
    cpi_mark_enter(cache);
    slot = cpi_cache_alloc(cache);
    cpi_mark_leave(cache);
    return CPI_LIKELY(slot != NULL) ? slot : search(cache);
}

/* Without a full spare. */
CPI_APART static void *take_exchanged(struct cpi_cache *cache)
{
    void **round;

    if (CPI_UNLIKELY(cpi_cache_stocked(cache) != 0 || cpi_cache_count(cache) != 0))
        return take_shown(cache);
    cpi_pool_note_exchange(cache->registry->pool, cache);
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

/* The same with this magazine of the depot, or 0, after the mark. */
CPI_APART static void give_at_length(struct cpi_cache *cache, void *slot, struct cpi_call call,
                                     uint32_t node)
{
    bool given = cpi_cache_spill_at_length(cache, node, slot);

    cpi_mark_leave(cache);
    if (CPI_UNLIKELY(!given))
        free_at_length(cache->registry->handle, slot, call);
}

/* The loaded magazine is full, and there is no empty spare.  The rarer case is a call at the end,
 * for which no register is saved. */
CPI_APART static void give_exchanged(struct cpi_cache *cache, void *slot, struct cpi_call call)
{
    uint32_t mark = cpi_mark_enter(cache);
    uint32_t node;

    if (CPI_LIKELY(cpi_cache_spill_to_depot(cache, slot, &node)))
        cpi_mark_end(cache, mark);
    else
        give_at_length(cache, slot, call, node);
}

/* --- The calling thread's own cache --- */

/* Of caches that are shown in this entry. */
CPI_APART static void *near_alloc(cpool_t *handle, cpool_cache_t *entry, struct cpi_cache *cache,
                                  const void *site)
{
    uint32_t left;
    uint32_t mark;
    void **round;

    (void)handle;
    (void)site;
    if (CPI_LIKELY(!__builtin_sub_overflow(cpi_cache_stocked(cache), 1u, &left) &&
                   cpi_word_load(&entry->count, relaxed) == 0)) { /* [own] */
        mark = cpi_mark_enter(cache);
        round = cpi_cache_refill_from_spare(cache, left, 1);
        cpi_mark_end(cache, mark);
        if (CPI_LIKELY(round != NULL))
            return *round;
    }
    return take_exchanged(cache);
}

CPI_WITHIN static inline void free_shown(const char *function, void *slot, uintptr_t index,
                                         struct cpi_cache *cache, const void *site)
{
    uint32_t stocked = cpi_cache_stocked(cache);
    cpool_cache_t *active = cpi_cache_active(cache);
    bool given = false;
    uint32_t mark;

    if (CPI_UNLIKELY(!cpi_cache_is_just_full(cache, active, index))) {
        give_shown(cache, slot, (struct cpi_call){function, site});
        return;
    }
    if (CPI_LIKELY(stocked < cache->quota)) {
        mark = cpi_mark_enter(cache);
        given = cpi_cache_spill_to_spare(cache, active, stocked, slot);
        cpi_mark_end(cache, mark);
    }
    if (CPI_UNLIKELY(!given))
        give_exchanged(cache, slot, (struct cpi_call){function, site});
}

static const char alloc_name[] = "cpool_alloc";
static const char free_name[] = "cpool_free";

static void near_free(cpool_t *handle, void *slot, uintptr_t index, struct cpi_cache *cache,
                      const void *site)
{
    (void)handle;
    free_shown(free_name, slot, index, cache, site);
}

/* Of any caches: the pool's way.  The others go on here with all that they were told, which takes
 * them no moves of registers. */
CPI_APART void *cpi_pool_general_alloc(cpool_t *handle, cpool_cache_t *entry,
                                       struct cpi_cache *cache, const void *site)
{
    (void)entry;
    return cpi_pool_alloc(handle->state, cache, (struct cpi_call){alloc_name, site});
}

CPI_APART void cpi_pool_general_free(cpool_t *handle, void *slot, uintptr_t index,
                                     struct cpi_cache *cache, const void *site)
{
    (void)index;
    cpi_pool_free(handle->state, cache, slot, (struct cpi_call){free_name, site});
}

/* Of exact pools: a pop or a push of the loaded magazine, in most cases. */
static void *exact_alloc(cpool_t *handle, cpool_cache_t *entry, struct cpi_cache *cache,
                         const void *site)
{
    void *slot;

    if (CPI_LIKELY(cpi_pool_pop(cache, &slot)))
        return slot;
    return cpi_pool_general_alloc(handle, entry, cache, site);
}

static void exact_free(cpool_t *handle, void *slot, uintptr_t index, struct cpi_cache *cache,
                       const void *site)
{
    if (CPI_LIKELY(index < cache->hidden.bound) && CPI_LIKELY(cpi_pool_push(cache, slot)))
        return;
    cpi_pool_general_free(handle, slot, 0, cache, site);
}

/* The same for callers with names of their own. */
static void *exact_way_alloc(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call)
{
    void *slot;

    if (CPI_LIKELY(cache != NULL) && CPI_LIKELY(cpi_pool_pop(cache, &slot)))
        return slot;
    return cpi_pool_alloc_slot(pool, cache, call);
}

static void exact_way_free(struct cpi_pool *pool, void *slot, struct cpi_cache *cache,
                           struct cpi_call call)
{
    if (CPI_UNLIKELY(cache == NULL ||
                     cpi_slab_index(&pool->slab, slot) >= cache->hidden.bound ||
                     !cpi_pool_push(cache, slot)))
        cpi_plain_way.free(pool, slot, cache, call);
}

/* While a cache says that its owner calls, and the pool was there when it began to say so, the
 * pool is not destroyed. */
static struct cpi_cache *begin_call(cpool_t *handle)
{
    struct cpi_cache *cache = NULL;
    struct cpi_pool *pool;

    cpi_lock();
    pool = handle->state;
    if (pool != NULL && pool->way->came != NULL)
        cache = cpi_registry_known_cache(&pool->registry);
    if (cache != NULL && !cache->registry->tells)
        cache = NULL;
    if (cache != NULL)
        cpi_store(&cache->calls, 1u, relaxed); /* [mark] */
    cpi_unlock();
    return cache;
}

/* The slot goes back by the pool's way, which leaves it where those that wait look, and ends the
 * call.  Another slot does for it.  Without any, the thread that has taken them is told. */
void cpi_pool_tell(cpool_t *handle, struct cpi_call call)
{
    struct cpi_cache *cache = begin_call(handle);
    struct cpi_pool *pool;
    void *slot;

    if (cache == NULL)
        return;
    pool = cache->registry->pool;
    if (cpi_pool_pop(cache, &slot)) {
        cpi_pool_free(pool, cache, slot, call);
        return;
    }
    pool->way->came(pool, cache);
    cpi_store(&cache->calls, 0u, release); /* [rest] */
}

/* Of waitable ones: the same, and a look at the descriptor afterwards.  After a push the pool may
 * be gone, and after a pop it is there as long as the slot is live. */
CPI_COLD static void *tell_and_return(struct cpi_cache *cache, void *slot)
{
    struct cpi_pool *pool = cache->registry->pool;

    pool->way->came(pool, cache);
    CPOOL_KEEP_(slot); /* otherwise clang saves a register around the call, in the way of all */
    return slot;
}

static void *told_alloc(cpool_t *handle, cpool_cache_t *entry, struct cpi_cache *cache,
                        const void *site)
{
    void *slot;

    if (CPI_UNLIKELY(!cpi_pool_pop(cache, &slot)))
        return cpi_pool_general_alloc(handle, entry, cache, site);
    atomic_signal_fence(memory_order_seq_cst); /* the mark's end, then the look */
    return CPI_UNLIKELY(cpi_handle_is_asked(handle)) ? tell_and_return(cache, slot) : slot;
}

static void told_free(cpool_t *handle, void *slot, uintptr_t index, struct cpi_cache *cache,
                      const void *site)
{
    /* First, so that a slot for a waiter that starves is nowhere else. */
    if (CPI_UNLIKELY(cpi_handle_is_asked(handle)) || CPI_UNLIKELY(index >= cache->hidden.bound) ||
        CPI_UNLIKELY(!cpi_pool_push(cache, slot))) {
        cpi_pool_general_free(handle, slot, 0, cache, site);
        return;
    }
    atomic_signal_fence(memory_order_seq_cst); /* the mark's end, then the look */
    if (CPI_UNLIKELY(cpi_handle_is_asked(handle)))
        cpi_pool_tell(handle, (struct cpi_call){free_name, site});
}

const struct cpi_brief cpi_general_brief = {cpi_pool_general_alloc, cpi_pool_general_free};
static const struct cpi_brief near_brief = {near_alloc, near_free};
static const struct cpi_brief exact_brief = {exact_alloc, exact_free};
const struct cpi_way cpi_exact_way = {.brief = &exact_brief, .alloc = exact_way_alloc,
                                      .free = exact_way_free};
static const struct cpi_brief told_brief = {told_alloc, told_free};

const struct cpi_brief *cpi_pool_brief(const struct cpi_pool *pool)
{
    if (pool->registry.inline_path)
        return &near_brief;
    if (pool->registry.tells)
        return &told_brief;
    return pool->way->brief != NULL ? pool->way->brief : &cpi_general_brief;
}

/* An entry that is the pool's has a cache.  That of a thread without a cache or of a destroyed
 * pool is no pool's.  The inline path has read the entry already, so a wrong handle
 * traps there or is noticed here. */
void *cpool_alloc_abi3(cpool_t *handle, cpool_cache_t *entry)
{
    struct cpi_cache *cache = entry->home;

    if (CPI_UNLIKELY(entry->pool != handle))
        return alloc_at_length(handle, entry, CPI_CALL(alloc_name));
    return cache->brief.alloc(handle, entry, cache, CPI_CALLER());
}

void cpool_free_abi3(cpool_t *handle, void *slot, uintptr_t index, cpool_cache_t *entry)
{
    struct cpi_cache *cache = entry->home;

    if (CPI_LIKELY(entry->pool == handle))
        cache->brief.free(handle, slot, index, cache, CPI_CALLER());
    else if ((void *)handle != entry)
        free_at_length(handle, slot, CPI_CALL(free_name));
    else
        cpi_pool_cache_free(entry, slot, index, CPI_CALL("cpool_cache_free"));
}

void cpi_layer_free(cpool_t *handle, void *slot)
{
    uintptr_t index;

    CPOOL_INDEX_(handle, slot, index);
    cpool_free_abi3(handle, slot, index, cpi_thread_entry(handle));
}

/* --- For typed pools --- */

void *cpi_pool_alloc_shown(struct cpi_cache *cache, cpool_cache_t *entry)
{
    return near_alloc(NULL, entry, cache, NULL);
}

void cpi_pool_free_shown(struct cpi_cache *cache, void *slot, uintptr_t index,
                         struct cpi_call call)
{
    free_shown(call.function, slot, index, cache, call.site);
}
