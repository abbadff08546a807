/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_edge.h - the loaded magazine and the spares: refill and spill, at its edges.
 *
 * An alloc that finds the loaded magazine empty takes a full spare, and a free that finds it
 * full takes an empty one.  Without such a spare the two exchange a magazine with the depot.
 * These four are inline, because most operations that leave the inline path are one of them.
 * Behind the last two, cache.c goes on in any other state.
 *
 * Each does the alloc or the free that comes first to the other magazine, too.  `taken` is 1
 * for an alloc, or 0 for none.  `active` is the cache's active entry.
 *
 * For the owner, which is inside (mark.h).  Lock-free.
 *
 * ORDERING TABLE
 *   own     | swaps, counter and count load | relaxed | - | -
 *   swap    | swaps store             | release | cache.h's moves | the swap that it counts
 *   show    | entry count, loaded store | release | registry.c's forked | which magazine is loaded
 *   spares  | stocked load            | relaxed | - | -
 *   stocked | stocked store           | release | cache.c's glance | the mark of the owner
 *                                                             that took the spares out
 *   offer   | spare store, CAS        | release | cache.c's steal, see | the magazine's
 *                                                             count and rounds; the owner's mark
 *   see     | spare load, CAS failure | relaxed | - | -
 *
 * The owner's own accesses need no order.  The release keeps the stores that precede a new count
 * before it, for the child of a fork, which finds the cache as it was at some instant.  It costs
 * nothing on x86, and elsewhere it is paid once a magazine.
 *
 * A spare that its owner takes back needs no acquire: the owner itself put it there.
 */
#ifndef CPI_CACHE_EDGE_H
#define CPI_CACHE_EDGE_H

#include "base/tools.h"
#include "cache/cache.h"

static inline struct cpi_magazine *cpi_cache_magazine(const struct cpi_cache *cache, uint32_t node)
{
    return cpi_depot_magazine(cache->depot, node);
}

static inline uint32_t cpi_cache_stocked(const struct cpi_cache *cache)
{
    return cpi_load(&cache->stocked, relaxed); /* [spares] */
}

static inline void cpi_cache_set_stocked(struct cpi_cache *cache, uint32_t stocked)
{
    CPI_ASSERT(stocked <= cache->quota_max);
    cpi_store(&cache->stocked, stocked, release); /* [stocked] */
}

static inline uintptr_t cpi_cache_count(const struct cpi_cache *cache)
{
    return cpi_word_load(&cpi_cache_active(cache)->count, relaxed); /* [own] */
}

static inline void cpi_cache_show_count(struct cpi_cache *cache, uintptr_t count)
{
    cpi_word_store(&cpi_cache_active(cache)->count, count, release); /* [show] */
}

/* Shows the fast path so many rounds of a magazine that is in the cache's hands, in
 * place of the one it showed, which is empty or has been put elsewhere. */
static inline void cpi_cache_show(struct cpi_cache *cache, cpool_cache_t *active, uint32_t node,
                                  struct cpi_magazine *magazine, uint32_t count)
{
    CPI_ASSERT(count <= cache->depot->limit);
    cpi_store(&cache->loaded, node, release); /* [show] */
    active->rounds = magazine->rounds;
    cpi_word_store(&active->count, count, release); /* [show] */
}

/* The same, all rounds, in place of any or none.  From then on they are counted there. */
static inline void cpi_cache_load(struct cpi_cache *cache, uint32_t node)
{
    struct cpi_magazine *magazine = cpi_cache_magazine(cache, node);
    cpool_cache_t *active = cpi_cache_active(cache);

    active->limit = cache->depot->limit;
    cpi_cache_show(cache, active, node, magazine, cpi_magazine_count(magazine));
    cpi_magazine_set_count(magazine, 0);
}

/* Frees of slots below the bound take the fast path. */
static inline void cpi_cache_look_at_bound(struct cpi_cache *cache)
{
    cpi_cache_active(cache)->bound = cpi_slab_fresh(cache->slab);
}

/* The i-th spare. */
static inline uint32_t cpi_cache_see(struct cpi_cache *cache, uint32_t i)
{
    return cpi_load(&cache->spare[i], relaxed); /* [see] */
}

static inline void cpi_cache_put(struct cpi_cache *cache, uint32_t i, uint32_t node)
{
    cpi_store(&cache->spare[i], node, release); /* [offer] */
}

/* Puts another magazine, or 0, in the place of a spare.  Returns false if the spare was
 * recalled. */
static inline bool cpi_cache_swap_at(_Atomic uint32_t *at, uint32_t node, uint32_t other)
{
    return cpi_cas_strong(at, &node, other, release, relaxed); /* [offer] [see] */
}

/* The loaded magazine takes the place of the i-th spare, which is returned, or 0 if there is
 * none or it was recalled. */
static inline uint32_t cpi_cache_swap_loaded(struct cpi_cache *cache, uint32_t i)
{
    _Atomic uint32_t *at = &cache->spare[i];
    uint32_t node = cpi_load(at, relaxed); /* [see] */

    return CPI_LIKELY(node != 0 && cpi_cache_swap_at(at, node, cpi_cache_loaded(cache))) ? node : 0;
}

/* The loaded magazine has changed places with a spare. */
static inline void cpi_cache_count_swap(struct cpi_cache *cache)
{
    uint64_t swaps = cpi_load(&cache->swaps, relaxed); /* [own] */

    cpi_store(&cache->swaps, swaps + 1, release); /* [swap] */
}

/* Loads this full magazine in place of an empty one, but for the rounds that are
 * taken.  Returns where these are. */
static inline void **cpi_cache_show_full(struct cpi_cache *cache, uint32_t node, uint32_t taken)
{
    struct cpi_magazine *magazine = cpi_cache_magazine(cache, node);
    uint32_t count;

    CPOOL_KEEP_(magazine);
    count = cpi_magazine_count(magazine);
    CPI_ASSERT(count == cache->depot->limit && cpi_cache_count(cache) == 0);
    cpi_magazine_set_count(magazine, 0);
    cpi_cache_show(cache, cpi_cache_active(cache), node, magazine, count - taken);
    return &magazine->rounds[count - taken];
}

/* Loads this empty magazine, with one round.  The full one has its new place. */
static inline void cpi_cache_show_one(struct cpi_cache *cache, cpool_cache_t *active,
                                      uint32_t node, void *slot)
{
    struct cpi_magazine *magazine = cpi_cache_magazine(cache, node);

    CPI_ASSERT(cpi_magazine_count(magazine) == 0);
    magazine->rounds[0] = slot;
    cpi_cache_show(cache, active, node, magazine, 1);
}

/* The full loaded magazine counts its rounds itself, before it is put elsewhere. */
static inline void cpi_cache_count_loaded(const cpool_cache_t *active, uintptr_t count)
{
    char *magazine = (char *)active->rounds - offsetof(struct cpi_magazine, rounds);

    cpi_magazine_set_count((struct cpi_magazine *)(void *)magazine, (uint32_t)count);
}

/* Refills by the newest of the full spares, of which `left` others are left.  Returns where the
 * taken rounds are, or NULL if the spare was recalled, and then there is one less, too. */
CPI_WITHIN static inline void **cpi_cache_refill_from_spare(struct cpi_cache *cache,
                                                            uint32_t left, uint32_t taken)
{
    uint32_t node = cpi_cache_swap_loaded(cache, left);
    void **rounds = NULL;

    if (CPI_LIKELY(node != 0))
        rounds = cpi_cache_show_full(cache, node, taken);
    cpi_cache_set_stocked(cache, left);
    if (CPI_LIKELY(node != 0)) {
        cpi_cache_count_swap(cache);
        CPI_PROBE2(refill, cache->entry->pool, cpi_cache_count(cache));
    }
    return rounds;
}

/* A refill without a spare, in any state: with this full magazine, which was taken from the
 * depot, or 0.  Returns NULL if there is nothing. */
void **cpi_cache_refill_at_length(struct cpi_cache *cache, uint32_t node, uint32_t taken);

/* The same by a full magazine of the depot, where the empty one goes in exchange. */
CPI_WITHIN static inline void **cpi_cache_refill_from_depot(struct cpi_cache *cache,
                                                            uint32_t taken)
{
    struct cpi_depot *depot = cache->depot;
    uint32_t empty = cpi_cache_loaded(cache);
    uint32_t node = cpi_depot_pop(depot, &depot->stocked, &cache->counters,
                                  &cache->counters.stocked_out);
    void **rounds;

    if (CPI_UNLIKELY(node == 0 || empty == 0 || cpi_depot_is_dry(depot)))
        return cpi_cache_refill_at_length(cache, node, taken);
    rounds = cpi_cache_show_full(cache, node, taken);
    cpi_depot_push(depot, &depot->empty, empty, &cache->counters, &cache->counters.empty_in);
    cpi_cache_look_at_bound(cache);
    CPI_PROBE2(refill, cache->entry->pool, cpi_cache_count(cache));
    CPI_ASSERT(cpi_cache_is_valid(cache));
    return rounds;
}

/* Spills into the place after the `stocked` full spares, where an empty one is.  Returns false
 * if there is none. */
CPI_WITHIN static inline bool cpi_cache_spill_to_spare(struct cpi_cache *cache,
                                                       cpool_cache_t *active, uint32_t stocked,
                                                       void *slot)
{
    uint32_t node;

    cpi_cache_count_loaded(active, active->limit);
    node = cpi_cache_swap_loaded(cache, stocked);
    if (CPI_UNLIKELY(node == 0)) {
        cpi_cache_count_loaded(active, 0);
        return false;
    }
    cpi_cache_show_one(cache, active, node, slot);
    cpi_cache_set_stocked(cache, stocked + 1);
    cpi_cache_count_swap(cache);
    CPI_PROBE2(spill, cache->entry->pool, stocked);
    return true;
}

/* The full loaded magazine becomes a spare.  Where all are full, one of them makes room, each in
 * turn, and is returned for the depot.  Returns 0 if that was recalled, or there is room. */
CPI_WITHIN static inline uint32_t cpi_cache_spill_with(struct cpi_cache *cache, uint32_t stocked,
                                                       uint32_t node, void *slot, bool has_room)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    uint32_t place = stocked;
    uint32_t given;

    CPI_PROBE2(spill, cache->entry->pool, stocked);
    cpi_cache_count_loaded(active, active->limit);
    if (!has_room)
        place = (uint32_t)cpi_load(&cache->counters.stocked_in, relaxed) % cache->quota; /* [own] */
    given = cpi_cache_swap_loaded(cache, place);
    CPI_ASSERT(given == 0 || !has_room);
    if (given == 0)
        cpi_cache_put(cache, place, cpi_cache_loaded(cache));
    cpi_cache_show_one(cache, active, node, slot);
    if (has_room)
        cpi_cache_set_stocked(cache, stocked + 1);
    CPI_ASSERT(cpi_cache_is_valid(cache));
    return given;
}

/* A spill without an empty spare, in any state: with this empty magazine, which was taken from
 * the depot, or 0.  Returns false if there is none: more slots were freed than ever handed
 * out. */
bool cpi_cache_spill_at_length(struct cpi_cache *cache, uint32_t node, void *slot);

/* Fewer are left as they are. */
#define CPI_DISPERSE_MIN 32u

/* Puts the rounds of a full magazine out of the order of their addresses, in which a processor may
 * fetch slots that another one is about to write.  The loaded magazine, of one round, has room. */
void cpi_cache_disperse(const struct cpi_cache *cache, struct cpi_magazine *magazine);

/* The same after a spill, where the first two rounds are neighbours, which they hardly are once
 * dispersed. */
static inline void cpi_cache_part_neighbours(struct cpi_cache *cache, uint32_t node)
{
    struct cpi_magazine *magazine = cpi_cache_magazine(cache, node);
    uintptr_t stride = cache->slab->stride;
    bool in_order =
        cache->depot->limit >= CPI_DISPERSE_MIN &&
        (uintptr_t)magazine->rounds[1] - (uintptr_t)magazine->rounds[0] + stride <= 2 * stride;

    if (CPI_UNLIKELY(in_order))
        cpi_cache_disperse(cache, magazine);
}

/* The same with an empty magazine of the depot, where a spare goes in exchange.  Returns
 * false, and this magazine or 0, if it is not that simple: the one at length is next. */
CPI_WITHIN static inline bool cpi_cache_spill_to_depot(struct cpi_cache *cache, void *slot,
                                                       uint32_t *popped)
{
    struct cpi_depot *depot = cache->depot;
    uint32_t stocked = cpi_cache_stocked(cache);
    uint32_t node = cpi_depot_pop(depot, &depot->empty, &cache->counters,
                                  &cache->counters.empty_out);

    *popped = node;
    if (CPI_UNLIKELY(node == 0 || stocked != cache->quota))
        return false;
    node = cpi_cache_spill_with(cache, stocked, node, slot, false);
    if (CPI_LIKELY(node != 0)) {
        cpi_cache_part_neighbours(cache, node);
        cpi_depot_push(depot, &depot->stocked, node, &cache->counters,
                       &cache->counters.stocked_in);
    }
    cpi_cache_look_at_bound(cache);
    return true;
}

/* Whether a free of this slot finds the loaded magazine full, and nothing but that is in its
 * way. */
CPI_WITHIN static inline bool cpi_cache_is_just_full(const struct cpi_cache *cache,
                                                     const cpool_cache_t *active,
                                                     uintptr_t index)
{
    uintptr_t count = cpi_word_load(&active->count, relaxed); /* [own] */

    return index < active->bound && count != 0 &&
           count >= active->limit && !cpi_depot_is_dry(cache->depot);
}

#endif /* CPI_CACHE_EDGE_H */
