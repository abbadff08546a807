/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_swap.h - the loaded magazine and the spares, word by word.
 *
 * Includes cache.h.  For the owner, which is inside (mark.h).
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
 * The owner's own accesses need no order.  The release keeps the stores that precede a new count
 * before it, for the child of a fork, which finds the cache as it was at some instant.  It costs
 * nothing on x86, and elsewhere it is paid once a magazine.
 *
 * A spare that its owner takes back needs no acquire: the owner itself put it
 * there.
 */
#ifndef CPI_CACHE_SWAP_H
#define CPI_CACHE_SWAP_H

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

/* The magazine that this entry shows. */
static inline struct cpi_magazine *cpi_cache_shown(const cpool_cache_t *active)
{
    return (struct cpi_magazine *)(void *)((char *)active->rounds -
                                           offsetof(struct cpi_magazine, rounds));
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

#endif /* CPI_CACHE_SWAP_H */
