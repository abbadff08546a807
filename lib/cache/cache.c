/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.c - what is unusual about refilling and spilling, which is the owner's, and what others
 * do with a cache.
 *
 * ORDERING TABLE (that of the spares is in cache_edge.h)
 *   show    | entry count, loaded store | release | registry.c's forked | which magazine is loaded
 *   active  | active and visible pointer store | relaxed | - | -
 *   steal   | spare CAS to 0          | acq_rel | cache_edge.h's offer, see | the magazine's count
 *                                                 and rounds; the stealing thread's mark
 *   see     | spare load, CAS failure | acquire | cache_edge.h's offer, steal | the mark of the
 *                                                 party that took the spare away
 *   glance  | stocked load            | acquire | cache_edge.h's stocked | likewise
 *   figures | count, spare, visible and loaded load for figures | relaxed | - | -
 *
 * A stealing thread that finds nothing asks next which parties are inside (mark.h), so
 * everything that it looks at it acquires from the thread that took the spare before.
 *
 * The compare-and-swap needs no tag.  A stealing thread that finds the number it
 * expected has found that magazine, and looks at its content only afterwards.
 */
#include "cache/cache_edge.h"

#include <string.h>

#include "base/atomic.h"

/* Near the end a cache takes this part of the fresh slots that are left, and of
 * the last full magazine. */
#define CPI_FRESH_PART 16u
#define CPI_DRY_PART 4u

bool cpi_cache_is_valid(const struct cpi_cache *cache)
{
    return cache->quota >= CPI_QUOTA_MIN && cache->quota <= cache->quota_max &&
           cpi_cache_stocked(cache) <= cache->quota &&
           (cpi_cache_loaded(cache) != 0 || cpi_cache_count(cache) == 0) &&
           cpi_cache_count(cache) <= cpi_cache_active(cache)->limit &&
           (cpi_cache_loaded(cache) == 0 ||
            cpi_magazine_count(cpi_cache_magazine(cache, cpi_cache_loaded(cache))) == 0);
}

/* Loads a magazine in place of an empty one or none.  The empty one's own count is 0
 * already. */
static void replace_empty(struct cpi_cache *cache, uint32_t node)
{
    uint32_t old = cpi_cache_loaded(cache);

    CPI_ASSERT(old != node && cpi_cache_count(cache) == 0);
    cpi_cache_load(cache, node);
    if (old != 0)
        cpi_depot_give(cache->depot, &cache->counters, old);
}

/* Gives a spare to the depot, if it is still there. */
CPI_APART static void give_spare(struct cpi_cache *cache, uint32_t i)
{
    uint32_t node = cpi_cache_see(cache, i);

    if (node != 0 && cpi_cache_swap_at(&cache->spare[i], node, 0))
        cpi_depot_give(cache->depot, &cache->counters, node);
}

static void give_stocked(struct cpi_cache *cache)
{
    uint32_t stocked = cpi_cache_stocked(cache);

    while (stocked > 0) {
        give_spare(cache, --stocked);
        cpi_cache_set_stocked(cache, stocked);
    }
}

/* Leaves most of the full magazine just loaded to other threads, because the
 * pool is nearly dry, and no other thread can reach a loaded magazine. */
CPI_COLD static void leave_most(struct cpi_cache *cache)
{
    uint32_t rest = cpi_depot_take_empty(cache->depot, &cache->counters);
    uintptr_t count = cpi_cache_count(cache);
    uintptr_t kept = (count + CPI_DRY_PART - 1) / CPI_DRY_PART;
    struct cpi_magazine *magazine;
    uintptr_t i;

    if (rest == 0)
        return;
    CPI_ASSERT(kept > 0 && kept <= count);
    magazine = cpi_cache_magazine(cache, rest);
    for (i = kept; i < count; i++)
        magazine->rounds[i - kept] = cpi_cache_active(cache)->rounds[i];
    cpi_cache_show_count(cache, kept);
    cpi_magazine_set_count(magazine, (uint32_t)(count - kept));
    cpi_depot_give(cache->depot, &cache->counters, rest);
}

/* A full magazine of the depot in place of the empty one or of none, or the pool was dry. */
static void load_stocked(struct cpi_cache *cache, uint32_t node)
{
    replace_empty(cache, node);
    if (cpi_depot_is_dry(cache->depot)) {
        if (cpi_depot_has_stocked(cache->depot))
            cpi_depot_set_dry(cache->depot, false);
        else
            leave_most(cache);
    }
}

static bool load_empty(struct cpi_cache *cache)
{
    uint32_t node = cpi_depot_take_empty(cache->depot, &cache->counters);

    if (node != 0)
        cpi_cache_load(cache, node);
    return node != 0;
}

/* How many fresh slots to take: a magazine, but a small part of what is left
 * near the end, so that no thread gets them all. */
static uintptr_t fair_run(const struct cpi_cache *cache, uintptr_t beyond)
{
    uint64_t bounds = cpi_slab_bounds(cache->slab);
    uintptr_t fresh = CPI_BOUNDS_FRESH(bounds);
    uintptr_t limit = CPI_BOUNDS_CAPACITY(bounds) + beyond;
    uintptr_t part = fresh < limit ? (limit - fresh) / CPI_FRESH_PART : 0;

    if (part > cache->depot->limit)
        return cache->depot->limit;
    return part > 0 ? part : 1;
}

bool cpi_cache_refill_fresh(struct cpi_cache *cache, uintptr_t beyond)
{
    uintptr_t first;
    size_t n;
    size_t i;

    if (cpi_cache_loaded(cache) == 0 && !load_empty(cache))
        return false;
    n = cpi_cache_bump(cache->slab, cache->depot, fair_run(cache, beyond), beyond, &first);
    if (n == 0)
        return false;
    CPI_ASSERT(n <= cache->depot->limit && cpi_cache_count(cache) == 0);
    for (i = 0; i < n; i++)
        cpi_cache_active(cache)->rounds[i] = cpi_slab_slot(cache->slab, first + n - 1 - i);
    cpi_cache_active(cache)->limit = cache->depot->limit; /* 0: see cpi_cache_detach */
    cpi_cache_show_count(cache, n);
    cpi_cache_look_at_bound(cache);
    return true;
}

/* Fresh slots come last, and not where a draining thread has emptied the depot, because they
 * stay in circulation for good.  It may have come back since the depot was empty. */
static bool load_any(struct cpi_cache *cache, uint32_t node)
{
    uint32_t seen = cpi_depot_drains(cache->depot);

    if (node == 0)
        node = cpi_depot_take_stocked(cache->depot, &cache->counters);
    if (node != 0) {
        load_stocked(cache, node);
        return true;
    }
    node = cpi_depot_take_partial(cache->depot, &cache->counters);
    if (node != 0)
        replace_empty(cache, node);
    return node != 0 ||
           (!cpi_depot_was_drained(cache->depot, seen) && cpi_cache_refill_fresh(cache, 0));
}

CPI_APART void **cpi_cache_refill_at_length(struct cpi_cache *cache, uint32_t node, uint32_t taken)
{
    bool refilled = load_any(cache, node);
    uintptr_t left;

    cpi_cache_look_at_bound(cache);
    CPI_ASSERT(cpi_cache_is_valid(cache) && refilled == (cpi_cache_count(cache) > 0));
    if (!refilled)
        return NULL;
    left = cpi_cache_count(cache) - taken;
    cpi_cache_show_count(cache, left);
    CPI_PROBE2(refill, cache->entry->pool, left);
    return &cpi_cache_active(cache)->rounds[left];
}

/* In any state of the cache, also where a stealing thread has taken the loaded magazine. */
CPI_APART static void **refill(struct cpi_cache *cache, uint32_t taken)
{
    void **rounds = NULL;
    uint32_t stocked;

    while (rounds == NULL && (stocked = cpi_cache_stocked(cache)) > 0)
        rounds = cpi_cache_refill_from_spare(cache, stocked - 1, taken);
    if (rounds == NULL)
        return cpi_cache_refill_at_length(cache, 0, taken);
    cpi_cache_active(cache)->limit = cache->depot->limit; /* 0: see cpi_cache_detach */
    cpi_cache_look_at_bound(cache);
    CPI_ASSERT(cpi_cache_is_valid(cache));
    return rounds;
}

bool cpi_cache_refill(struct cpi_cache *cache)
{
    return refill(cache, 0) != NULL;
}

void *cpi_cache_alloc(struct cpi_cache *cache)
{
    void *slot = cpi_cache_pop(cache);
    void **round;

    if (slot != NULL)
        return slot;
    round = refill(cache, 1);
    return round != NULL ? *round : NULL;
}

static uint32_t common_divisor(uint32_t one, uint32_t other)
{
    return other == 0 ? one : common_divisor(other, one % other);
}

/* A step that meets each of `size` rounds, and that puts slots far from their neighbours. */
static uint32_t step_of(uint32_t size)
{
    uint32_t step = size * 5 / 13 + 1;

    while (common_divisor(size, step) != 1)
        step++;
    return step;
}

CPI_COLD void cpi_cache_disperse(const struct cpi_cache *cache, struct cpi_magazine *magazine)
{
    void **room = cpi_cache_active(cache)->rounds + 1;
    uint32_t size = cache->depot->limit;
    uint32_t step = step_of(size);
    uint32_t at = size - 1;

    CPI_ASSERT(cpi_cache_count(cache) == 1);
    memcpy(room, magazine->rounds, at * sizeof(room[0]));
    for (uint32_t i = at; i-- > 0; magazine->rounds[i] = room[at])
        at = (at + step) % size;
}

CPI_APART bool cpi_cache_spill_at_length(struct cpi_cache *cache, uint32_t node, void *slot)
{
    uint32_t stocked = cpi_cache_stocked(cache);

    if (node == 0)
        node = cpi_depot_take_empty(cache->depot, &cache->counters);
    if (node == 0)
        return false;
    node = cpi_cache_spill_with(cache, stocked, node, slot, stocked < cache->quota);
    if (node != 0) {
        cpi_cache_part_neighbours(cache, node);
        cpi_depot_give(cache->depot, &cache->counters, node);
    }
    cpi_cache_look_at_bound(cache);
    cpi_cache_count_free(cache);
    return true;
}

/* The loaded magazine is full. */
CPI_APART static bool spill(struct cpi_cache *cache, void *slot)
{
    uint32_t stocked = cpi_cache_stocked(cache);

    cpi_cache_look_at_bound(cache);
    if ((stocked == cache->quota ||
         !cpi_cache_spill_to_spare(cache, cpi_cache_active(cache), stocked, slot)) &&
        !cpi_cache_spill_at_length(cache, 0, slot))
        return false;
    if (cpi_depot_is_dry(cache->depot))
        give_stocked(cache);
    CPI_ASSERT(cpi_cache_is_valid(cache));
    return true;
}

bool cpi_cache_free(struct cpi_cache *cache, void *slot)
{
    if (!cpi_cache_push(cache, slot)) {
        /* 0 beside no magazine. */
        if (cpi_cache_active(cache)->limit != 0)
            return spill(cache, slot);
        if (!load_empty(cache) || !cpi_cache_push(cache, slot))
            return false;
    }
    cpi_cache_look_at_bound(cache); /* that may be why it came here */
    return true;
}

uint32_t cpi_cache_detach(struct cpi_cache *cache)
{
    uint32_t node = cpi_cache_loaded(cache);
    uint32_t count;

    /* Where nothing is loaded the active entry shows nothing, and a stealing thread that comes
     * late, to a cache that is being opened anew, must not write. */
    if (node == 0)
        return 0;
    CPI_ASSERT(cpi_magazine_count(cpi_cache_magazine(cache, node)) == 0);
    count = (uint32_t)cpi_cache_count(cache);
    cpi_cache_active(cache)->limit = 0;
    cpi_cache_show_count(cache, 0);
    cpi_store(&cache->loaded, 0, release); /* [show] */
    cpi_magazine_set_count(cpi_cache_magazine(cache, node), count);
    return node;
}

void cpi_cache_flush_spares(struct cpi_cache *cache)
{
    uint32_t i;

    for (i = 0; i < cache->quota_max; i++)
        give_spare(cache, i);
    cpi_cache_set_stocked(cache, 0);
}

void cpi_cache_flush(struct cpi_cache *cache)
{
    uint32_t node = cpi_cache_detach(cache);

    if (node != 0)
        cpi_depot_give(cache->depot, &cache->counters, node);
    cpi_cache_flush_spares(cache);
    CPI_ASSERT(cpi_cache_loaded(cache) == 0 && cpi_cache_stocked(cache) == 0);
}

void cpi_cache_abandon(struct cpi_cache *cache)
{
    cpi_store(&cache->loaded, 0, release); /* [show] */
    cpi_cache_active(cache)->limit = 0;
    cpi_cache_show_count(cache, 0);
}

void cpi_cache_discard(struct cpi_cache *cache)
{
    uint32_t i;

    cpi_cache_abandon(cache);
    cpi_cache_set_stocked(cache, 0);
    for (i = 0; i < cache->quota_max; i++)
        cpi_cache_put(cache, i, 0);
}

void cpi_cache_open(struct cpi_cache *cache, cpool_cache_t *entry, bool inline_path,
                    uint32_t quota, cpool_t *pool)
{
    CPI_ASSERT(entry != NULL && quota >= CPI_QUOTA_MIN && quota <= cache->quota_max);
    cache->entry = entry;
    cache->shown = inline_path;
    cpi_store(&cache->active, inline_path ? entry : &cache->hidden, relaxed); /* [active] */
    cpi_store(&cache->visible, cpi_cache_active(cache), relaxed);             /* [active] */
    entry->pool = pool;
    entry->home = cache;
    cache->quota = quota;
    cache->countdown = CPI_COUNT_EVERY;
    cpi_cache_discard(cache);
    cpi_cache_look_at_bound(cache);
}

void cpi_cache_show_typed(struct cpi_cache *cache, cpool_cache_t *entry)
{
    cpi_cache_flush(cache);
    cpi_store(&cache->visible, NULL, relaxed); /* [active] */
    cpi_store(&cache->active, entry, relaxed); /* [active] */
    cpi_cache_look_at_bound(cache);
}

/* --- For any thread --- */

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
