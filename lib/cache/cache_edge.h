/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_edge.h - the common cases at the edges of the loaded magazine, without a call.
 *
 * Includes cache_swap.h, mark.h.
 *
 * Where the inline path shows the loaded magazine, an alloc that finds it empty takes a
 * full spare, and a free that finds it full takes an empty one.  Without such a spare the
 * two exchange a magazine with the depot.  No thread locks such a cache, so the mark is
 * all that it takes to go inside.  These four do the work of cpi_cache_alloc and
 * cpi_cache_free, and the first alloc or free of the other magazine with it.  They leave
 * every unusual case to those two, before anything has changed.
 *
 * ORDERING TABLE
 *   own     | swaps, retries and count load | relaxed | - | -
 *
 * For the owner of a cache that is `shown`.  Lock-free.
 */
#ifndef CPI_CACHE_EDGE_H
#define CPI_CACHE_EDGE_H

#include "cache/cache_swap.h"
#include "cache/mark.h"

static inline bool is_review_due(const struct cpi_cache *cache)
{
    uint64_t swaps = cpi_load(&cache->counters.swaps, relaxed) + 1; /* [own] */

    return swaps % CPI_REVIEW_SWAPS == 0;
}

/* Whether its last exchange was of the other kind, or was repeated, so that the next one
 * changes the target. */
static inline bool is_exchange_noted(const struct cpi_cache *cache, bool gives)
{
    return cache->gave != gives ||
           cpi_load(&cache->counters.retries, relaxed) != cache->retries; /* [own] */
}

/* Loads this full magazine in place of the empty one, but for its last round, which is
 * returned. */
static inline void *show_all_but_one(struct cpi_cache *cache, uint32_t node)
{
    struct cpi_magazine *magazine = magazine_of(cache, node);
    uint32_t left = cpi_magazine_count(magazine) - 1;

    CPI_ASSERT(left + 1 == cache->depot->limit);
    cpi_magazine_set_count(magazine, 0);
    show(cache, node, magazine, left);
    return magazine->rounds[left];
}

/* Loads this empty magazine, with one round.  The full one has its new place. */
static inline void show_one(struct cpi_cache *cache, uint32_t node, void *slot)
{
    struct cpi_magazine *magazine = magazine_of(cache, node);

    CPI_ASSERT(cpi_magazine_count(magazine) == 0);
    magazine->rounds[0] = slot;
    show(cache, node, magazine, 1);
}

/* The full loaded magazine counts its rounds itself, before it is put elsewhere. */
static inline void count_loaded(struct cpi_cache *cache, uint32_t count)
{
    cpi_magazine_set_count(magazine_of(cache, cpi_cache_loaded(cache)), count);
}

/* An alloc by a full spare, or NULL. */
CPI_WITHIN static inline void *cpi_cache_swap_and_take(struct cpi_cache *cache)
{
    uint32_t stocked = stocked_spares(cache) - 1;
    void *slot = NULL;
    uint32_t node;

    if (CPI_UNLIKELY(stocked == UINT32_MAX || active_count(cache) != 0 || is_review_due(cache)))
        return NULL;
    cpi_mark_enter(cache);
    node = swap_newest(cache, stocked);
    if (CPI_LIKELY(node != 0)) {
        slot = show_all_but_one(cache, node);
        lower_stocked(cache, stocked);
        cpi_depot_account(&cache->counters.swaps, 1);
        CPI_ASSERT(cpi_cache_is_valid(cache));
    }
    cpi_mark_leave(cache);
    return slot;
}

/* An alloc by a full magazine of the depot, where the empty one goes in exchange, or
 * NULL. */
CPI_WITHIN static inline void *cpi_cache_exchange_and_take(struct cpi_cache *cache)
{
    struct cpi_depot *depot = cache->depot;
    uint32_t empty = cpi_cache_loaded(cache);
    void *slot = NULL;
    uint32_t node;

    if (CPI_UNLIKELY(stocked_spares(cache) != 0 || active_count(cache) != 0 || empty == 0 ||
                     cache->vacant || is_exchange_noted(cache, false) ||
                     cpi_depot_is_dry(depot)))
        return NULL;
    cpi_mark_enter(cache);
    node = cpi_depot_pop(depot, &depot->stocked, &cache->counters,
                         &cache->counters.stocked_out);
    if (CPI_LIKELY(node != 0)) {
        slot = show_all_but_one(cache, node);
        cpi_depot_push(depot, &depot->empty, empty, &cache->counters,
                       &cache->counters.empty_in);
        look_at_bound(cache);
        CPI_ASSERT(cpi_cache_is_valid(cache));
    }
    cpi_mark_leave(cache);
    return slot;
}

/* Whether a free finds the loaded magazine full, and nothing but that is in its way. */
CPI_WITHIN static inline bool cpi_cache_is_just_full(const struct cpi_cache *cache,
                                                     const void *slot)
{
    const cpool_cache_t *active = cpi_cache_active(cache);
    uintptr_t count = cpi_word_load(&active->count, relaxed); /* [own] */

    return cpi_slab_index(cache->slab, slot) < active->bound && count != 0 &&
           count >= active->limit && !cpi_depot_is_dry(cache->depot);
}

/* A free into such a cache by an empty spare.  Returns false if there is none. */
CPI_WITHIN static inline bool cpi_cache_swap_and_give(struct cpi_cache *cache, void *slot)
{
    uint32_t stocked = stocked_spares(cache);
    uint32_t node;

    if (CPI_UNLIKELY(stocked >= cache->target || is_review_due(cache)))
        return false;
    cpi_mark_enter(cache);
    count_loaded(cache, cache->depot->limit);
    node = swap_newest(cache, stocked);
    if (CPI_LIKELY(node != 0)) {
        show_one(cache, node, slot);
        set_stocked(cache, stocked + 1);
        cpi_depot_account(&cache->counters.swaps, 1);
    } else {
        count_loaded(cache, 0);
    }
    cpi_mark_leave(cache);
    return node != 0;
}

/* The oldest spare leaves its place, and the full loaded magazine becomes the newest.
 * Returns false if the oldest was recalled. */
static inline bool push_out(struct cpi_cache *cache, uint32_t oldest, uint32_t stocked)
{
    if (CPI_UNLIKELY(!swap_at(place(cache, 0), oldest, 0)))
        return false;
    count_loaded(cache, cache->depot->limit);
    cache->bottom = cache->bottom + 1 < cache->ring_size ? cache->bottom + 1 : 0;
    put_spare(cache, stocked - 1, cpi_cache_loaded(cache));
    return true;
}

/* A free into such a cache by an empty magazine of the depot, where the oldest spare goes
 * in exchange.  Returns false if there is none, or other spares may follow. */
CPI_WITHIN static inline bool cpi_cache_exchange_and_give(struct cpi_cache *cache, void *slot)
{
    struct cpi_depot *depot = cache->depot;
    uint32_t stocked = stocked_spares(cache);
    uint32_t oldest = see_spare(cache, 0);
    bool given = false;
    uint32_t node;

    if (CPI_UNLIKELY(stocked != cache->quota || oldest == 0 || is_exchange_noted(cache, true)))
        return false;
    cpi_mark_enter(cache);
    node = cpi_depot_pop(depot, &depot->empty, &cache->counters, &cache->counters.empty_out);
    if (CPI_LIKELY(node != 0)) {
        given = push_out(cache, oldest, stocked);
        if (CPI_LIKELY(given)) {
            show_one(cache, node, slot);
            cpi_depot_push(depot, &depot->stocked, oldest, &cache->counters,
                           &cache->counters.stocked_in);
            look_at_bound(cache);
        } else {
            cpi_depot_push(depot, &depot->empty, node, &cache->counters,
                           &cache->counters.empty_in);
        }
        CPI_ASSERT(cpi_cache_is_valid(cache));
    }
    cpi_mark_leave(cache);
    return given;
}

#endif /* CPI_CACHE_EDGE_H */
