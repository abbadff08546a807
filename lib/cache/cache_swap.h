/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_swap.h - the loaded magazine changes places with a spare.
 *
 * Includes cache.h.  Inline, because most operations that leave the inline
 * path do it.  For the owner, which is inside (mark.h).
 *
 * ORDERING TABLE
 *   own     | entry count load        | relaxed | - | -
 *   show    | entry count, loaded store | release | registry.c's forked | which magazine is loaded
 *   spares  | stocked load            | relaxed | - | -
 *   stocked | stocked store           | release | cache_shared.c's glance | the mark of the owner
 *                                                             that took the spares out
 *   offer   | spare store, CAS        | release | cache_shared.c's steal, see | the magazine's
 *                                                             count and rounds; the owner's mark
 *   see     | spare load, CAS failure | relaxed | - | -
 *
 * The owner's own accesses need no order.  The release keeps the stores that
 * precede a new count before it, for the child of a fork, which finds the cache as
 * it was at some instant.  It costs nothing on x86, and elsewhere it is paid once a
 * magazine.
 *
 * A spare that its owner takes back needs no acquire: the owner itself put it
 * there.
 */
#ifndef CPI_CACHE_SWAP_H
#define CPI_CACHE_SWAP_H

#include "cache/cache.h"

/* Does without half of the spares that stayed full since the last review. */
void cpi_cache_review(struct cpi_cache *cache);

static inline struct cpi_magazine *magazine_of(const struct cpi_cache *cache, uint32_t node)
{
    return cpi_depot_magazine(cache->depot, node);
}

static inline uint32_t stocked_spares(const struct cpi_cache *cache)
{
    return cpi_load(&cache->stocked, relaxed); /* [spares] */
}

static inline void set_stocked(struct cpi_cache *cache, uint32_t stocked)
{
    CPI_ASSERT(stocked <= cache->ring_size);
    cpi_store(&cache->stocked, stocked, release); /* [stocked] */
}

static inline uintptr_t active_count(const struct cpi_cache *cache)
{
    return cpi_word_load(&cpi_cache_active(cache)->count, relaxed); /* [own] */
}

static inline void show_count(struct cpi_cache *cache, uintptr_t count)
{
    cpi_word_store(&cpi_cache_active(cache)->count, count, release); /* [show] */
}

/* Shows the fast path so many rounds of a magazine that is in the cache's hands, in
 * place of the one it showed, which is empty or has been put elsewhere. */
static inline void show(struct cpi_cache *cache, uint32_t node, struct cpi_magazine *magazine,
                        uint32_t count)
{
    cpool_cache_t *active = cpi_cache_active(cache);

    CPI_ASSERT(active->limit == cache->depot->limit && count <= active->limit);
    cpi_store(&cache->loaded, node, release); /* [show] */
    active->rounds = magazine->rounds;
    cpi_word_store(&active->count, count, release); /* [show] */
}

/* The same, all rounds, in place of any or none.  From then on they are counted there. */
static inline void load(struct cpi_cache *cache, uint32_t node)
{
    struct cpi_magazine *magazine = magazine_of(cache, node);

    cpi_cache_active(cache)->limit = cache->depot->limit;
    show(cache, node, magazine, cpi_magazine_count(magazine));
    cpi_magazine_set_count(magazine, 0);
}

/* Writes the loaded magazine's count down in it, and shows the fast path none:
 * another must be loaded, or `loaded` cleared.  An empty one need not be
 * unloaded.  Returns the magazine, 0 if none was loaded. */
static inline uint32_t unload(struct cpi_cache *cache)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    uint32_t node = cpi_cache_loaded(cache);

    CPI_ASSERT(active_count(cache) <= active->limit);
    CPI_ASSERT(node == 0 || cpi_magazine_count(magazine_of(cache, node)) == 0);
    if (node != 0)
        cpi_magazine_set_count(magazine_of(cache, node), (uint32_t)active_count(cache));
    active->limit = 0;
    cpi_word_store(&active->count, 0, release); /* [show] */
    return node;
}

/* Frees of slots below the bound take the fast path. */
static inline void look_at_bound(struct cpi_cache *cache)
{
    cpi_cache_active(cache)->bound = cpi_slab_fresh(cache->slab);
}

/* The i-th place of the ring. */
static inline _Atomic uint32_t *place(struct cpi_cache *cache, uint32_t i)
{
    uint32_t at = cache->bottom + i;

    CPI_ASSERT(i < cache->ring_size && cache->bottom < cache->ring_size);
    return &cache->spare[at < cache->ring_size ? at : at - cache->ring_size];
}

static inline uint32_t see_spare(struct cpi_cache *cache, uint32_t i)
{
    return cpi_load(place(cache, i), relaxed); /* [see] */
}

static inline void put_spare(struct cpi_cache *cache, uint32_t i, uint32_t node)
{
    cpi_store(place(cache, i), node, release); /* [offer] */
}

/* Puts another magazine, or 0, in the place of a spare.  Returns false if the spare was
 * recalled. */
static inline bool swap_at(_Atomic uint32_t *at, uint32_t node, uint32_t other)
{
    return cpi_cas_strong(at, &node, other, release, relaxed); /* [offer] [see] */
}

/* The number of full spares became less because the owner needed one. */
static inline void lower_stocked(struct cpi_cache *cache, uint32_t stocked)
{
    set_stocked(cache, stocked);
    if (stocked < cache->lowest)
        cache->lowest = stocked;
}

static inline void note_swap(struct cpi_cache *cache)
{
    if (CPI_UNLIKELY(cpi_depot_account(&cache->counters.swaps, 1) % CPI_REVIEW_SWAPS == 0))
        cpi_cache_review(cache);
}

/* The empty magazine takes the place of the i-th spare, which is the newest full one and
 * is returned, or 0 if it was recalled. */
static inline uint32_t swap_newest(struct cpi_cache *cache, uint32_t i)
{
    _Atomic uint32_t *at = place(cache, i);
    uint32_t node = cpi_load(at, relaxed); /* [see] */

    return CPI_LIKELY(node != 0 && swap_at(at, node, cpi_cache_loaded(cache))) ? node : 0;
}

/* Loads the i-th spare, which is the newest full one, in place of the empty magazine.
 * Returns false if the spare was recalled, and then there is one place less. */
static inline bool cpi_cache_take_spare(struct cpi_cache *cache, uint32_t i)
{
    uint32_t node = swap_newest(cache, i);

    if (CPI_UNLIKELY(node == 0)) {
        lower_stocked(cache, i);
        cache->vacant = true;
        return false;
    }
    CPI_ASSERT(cpi_magazine_count(magazine_of(cache, node)) == cache->depot->limit);
    load(cache, node);
    lower_stocked(cache, i);
    note_swap(cache);
    return true;
}

/* Loads the i-th spare, which is the first empty one, in place of the full magazine.
 * Returns false if there is none, or a stealing thread has recalled it by mistake. */
static inline bool cpi_cache_put_spare(struct cpi_cache *cache, uint32_t i)
{
    _Atomic uint32_t *at = place(cache, i);
    uint32_t node = cpi_load(at, relaxed); /* [see] */
    uint32_t full;

    if (CPI_UNLIKELY(node == 0))
        return false;
    full = unload(cache);
    CPI_ASSERT(cpi_magazine_count(magazine_of(cache, full)) == cache->depot->limit);
    if (CPI_UNLIKELY(!swap_at(at, node, full))) {
        load(cache, full);
        return false;
    }
    CPI_ASSERT(cpi_magazine_count(magazine_of(cache, node)) == 0);
    load(cache, node);
    set_stocked(cache, i + 1);
    note_swap(cache);
    return true;
}

#endif /* CPI_CACHE_SWAP_H */
