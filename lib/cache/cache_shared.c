/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_shared.c - what is not the owner's alone: stealing spares, counting, and
 * bumping the watermark of fresh slots.
 *
 * Implements a part of cache.h.
 *
 * ORDERING TABLE
 *   steal   | spare CAS to 0          | acq_rel | cache_swap.h's offer, see | the magazine's count
 *                                                 and rounds; the stealing thread's mark
 *   see     | spare load, CAS failure | acquire | cache_swap.h's offer, steal | the mark of the
 *                                                 party that took the spare away
 *   glance  | stocked load            | acquire | cache_swap.h's stocked | likewise
 *   figures | count, spare, visible and loaded load for figures | relaxed | - | -
 *
 * A stealing thread that finds nothing asks next which parties are inside (mark.h), so
 * everything that it looks at it acquires from the thread that took the spare before.
 *
 * The compare-and-swap needs no tag.  A stealing thread that finds the number it
 * expected has found that magazine, and looks at its content only afterwards.
 */
#include "cache/cache.h"

#include "base/atomic.h"

uint32_t cpi_cache_steal(struct cpi_cache *victim)
{
    uint32_t i;

    if (cpi_load(&victim->stocked, acquire) == 0) /* [glance] */
        return 0;
    for (i = 0; i < victim->quota_max; i++) {
        uint32_t node = cpi_load(&victim->spare[i], acquire); /* [see] */

        if (node == 0 || cpi_magazine_count(cpi_depot_magazine(victim->depot, node)) == 0)
            continue;
        if (cpi_cas_strong(&victim->spare[i], &node, 0, acq_rel, acquire)) /* [steal] [see] */
            return node;
    }
    return 0;
}

static size_t spare_rounds(const struct cpi_cache *cache)
{
    size_t rounds = 0;
    uint32_t i;

    for (i = 0; i < cache->quota_max; i++) {
        uint32_t node = cpi_load(&cache->spare[i], relaxed); /* [figures] */

        if (node != 0)
            rounds += cpi_magazine_count(cpi_depot_magazine(cache->depot, node));
    }
    return rounds;
}

size_t cpi_cache_rounds(const struct cpi_cache *cache)
{
    /* [figures] */
    return (size_t)cpi_word_load(&cpi_cache_active(cache)->count, relaxed) + spare_rounds(cache);
}

size_t cpi_cache_estimate(const struct cpi_cache *cache)
{
    const cpool_cache_t *entry = cpi_load(&cache->visible, relaxed); /* [figures] */
    size_t rounds = 0;

    if (entry != NULL)
        rounds = (size_t)cpi_word_load(&entry->count, relaxed); /* [figures] */
    else if (cpi_load(&cache->loaded, relaxed) != 0)            /* [figures] */
        rounds = cache->depot->limit / 2;
    return rounds + spare_rounds(cache);
}

size_t cpi_cache_bump(struct cpi_slab *slab, struct cpi_depot *depot, uintptr_t n,
                      uintptr_t beyond, uintptr_t *first)
{
    for (;;) {
        uint64_t bounds = cpi_slab_bounds(slab);
        uintptr_t fresh = CPI_BOUNDS_FRESH(bounds);
        uintptr_t limit = CPI_BOUNDS_CAPACITY(bounds) + beyond;
        uintptr_t left = fresh < limit ? limit - fresh : 0;

        if (left > n)
            left = n;
        if (left == 0)
            return 0;
        if (!cpi_depot_provide(depot, fresh + left) || !cpi_slab_provide(slab, fresh + left)) {
            n = left / 2; /* the system may have memory for fewer */
            continue;
        }
        if (cpi_slab_bump(slab, bounds, left)) {
            if (slab->bumped != NULL)
                slab->bumped(slab, fresh, left);
            CPI_ASSERT(left <= n && fresh + left <= slab->slots);
            *first = fresh;
            return left;
        }
    }
}
