/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.c - refilling, spilling, opening and closing, all by the owner, and what other threads do
 * with a cache.
 *
 * ORDERING TABLE (cache.h has the rest)
 *   open    | loaded store            | release | reclaim.c's take | the rounds
 *           | entry limit store of the room | seq_cst | reclaim.c's scan | that it is open
 *   check   | closed fetch-and-add of 0 | acq_rel | reclaim.c's begin | the whole opening, and
 *                                              that the cache is in the list
 *   before  | closed load             | acquire | reclaim.c's end | what a closing thread took
 *   shut    | entry limit store 0     | release | reclaim.c's scan | -
 *   out     | loaded CAS to 0         | acq_rel | reclaim.c's take, show | who owns the magazine
 *   lost    | loaded CAS failure      | acquire | reclaim.c's take | that another thread owns it
 *   active  | active pointer store    | release | reclaim.c's scan | what was loaded before
 *   alone   | words of a cache that nobody uses, store | relaxed | - | -
 *           | its entry count store | release | reclaim.c's seen | what was loaded before
 *   steal   | spare CAS to 0  | acq_rel | cache.h's offer, see | what is in it; the taker's mark
 *   see     | spare load, CAS failure | acquire | cache.h's offer, steal | the taker's mark
 *   glance  | stocked load            | acquire | cache.h's stocked | the spares' counts
 *   figures | count, loaded and spare load for figures | relaxed | - | -
 *
 * doc/CONCURRENCY.md 3.5 argues why [check] and [begin] cannot miss each other, and 3.4 why the
 * compare-and-swap of [steal] needs no tag.  A stealing thread that finds nothing goes on to check
 * which parties are inside, so all its loads acquire from the thread that took the spare before.
 */
#include "cache/cache.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "cache/reclaim.h"

/* When few fresh slots are left, a cache takes one in CPI_FRESH_PART of them. */
#define CPI_FRESH_PART 16u

bool cpi_cache_is_valid(const struct cpi_cache *cache)
{
    return cache->quota >= CPI_QUOTA_MIN && cache->quota <= cache->quota_max &&
           cpi_cache_stocked(cache) <= cache->quota && cpi_cache_loaded(cache) != 0 &&
           cpi_cache_count(cache) <= cache->depot->limit &&
           cpi_magazine_count(cpi_cache_magazine(cache, cpi_cache_loaded(cache))) == 0;
}

/* --- Refilling an open magazine --- */

/* How many fresh slots to take: a magazine, or a small part of the rest near the end, so that no
 * thread gets them all. */
static uintptr_t fair_run(const struct cpi_cache *cache)
{
    uint64_t bounds = cpi_slab_bounds(cache->slab);
    uintptr_t fresh = CPI_BOUNDS_FRESH(bounds);
    uintptr_t limit = CPI_BOUNDS_CAPACITY(bounds);
    uintptr_t part = fresh < limit ? (limit - fresh) / CPI_FRESH_PART : 0;

    return part > 0 ? cpi_lower(part, cache->depot->limit) : 1;
}

/* Refills with slots that have never been handed out. */
static bool refill_fresh(struct cpi_cache *cache)
{
    uintptr_t first;
    size_t n = cpi_cache_bump(cache->slab, cache->depot, fair_run(cache), 0, &first);

    CPI_ASSERT(n <= cache->depot->limit && cpi_cache_count(cache) == 0);
    for (size_t i = 0; i < n; i++)
        cpi_cache_active(cache)->rounds[i] = cpi_slab_slot(cache->slab, first + n - 1 - i);
    cpi_cache_set_count(cache, n);
    return n > 0;
}

/* Fresh slots come last, because they stay in circulation for good.  If a draining thread has
 * emptied the depot, takes none, even if it has refilled the depot since. */
static bool load_any(struct cpi_cache *cache, uint32_t node)
{
    uint32_t seen = cpi_depot_drains(cache->depot);

    if (node == 0)
        node = cpi_depot_take_stocked(cache->depot, &cache->counters);
    if (node == 0)
        node = cpi_depot_take_partial(cache->depot, &cache->counters);
    if (node != 0) {
        uint32_t empty = cpi_cache_loaded(cache);

        CPI_ASSERT(empty != 0 && empty != node && cpi_cache_count(cache) == 0);
        cpi_cache_load(cache, node);
        cpi_depot_give(cache->depot, &cache->counters, empty);
    }
    return node != 0 || (!cpi_depot_was_drained(cache->depot, seen) && refill_fresh(cache));
}

CPI_APART void **cpi_cache_refill_slow(struct cpi_cache *cache, uint32_t node, uint32_t taken)
{
    bool refilled = load_any(cache, node);
    uintptr_t left;

    cpi_cache_look_at_bound(cache);
    CPI_ASSERT(cpi_cache_is_valid(cache) && refilled == (cpi_cache_count(cache) > 0));
    if (!refilled)
        return NULL;
    left = cpi_cache_count(cache) - taken;
    cpi_cache_set_count(cache, left);
    return &cpi_cache_active(cache)->rounds[left];
}

CPI_APART static void **refill(struct cpi_cache *cache, uint32_t taken)
{
    void **rounds = NULL;
    uint32_t stocked;

    while (rounds == NULL && (stocked = cpi_cache_stocked(cache)) > 0)
        rounds = cpi_cache_refill_from_spare(cache, cpi_cache_active(cache), stocked - 1, taken);
    if (rounds == NULL)
        return cpi_cache_refill_slow(cache, 0, taken);
    cpi_cache_look_at_bound(cache);
    CPI_ASSERT(cpi_cache_is_valid(cache));
    return rounds;
}

static void *pop_open(struct cpi_cache *cache)
{
    uintptr_t count = cpi_cache_count(cache);
    void **round;

    if (count > 0) {
        cpi_cache_set_count(cache, count - 1);
        return cpi_cache_active(cache)->rounds[count - 1];
    }
    round = refill(cache, 1);
    return round != NULL ? *round : NULL;
}

/* --- Spilling --- */

static uint32_t common_divisor(uint32_t one, uint32_t other)
{
    return other == 0 ? one : common_divisor(other, one % other);
}

bool cpi_cache_disperses;

/* A step that visits each of `size` rounds, and that separates neighbours. */
static uint32_t step_of(uint32_t size)
{
    uint32_t step = size * 5 / 13 + 1;

    while (common_divisor(size, step) != 1)
        step++;
    return step;
}

/* Copies backwards, of which no compiler makes a memcpy: ThreadSanitizer watches those. */
CPI_COLD void cpi_cache_disperse(const struct cpi_cache *cache, struct cpi_magazine *magazine)
{
    void **room = cpi_cache_active(cache)->rounds;
    uint32_t size = cache->depot->limit;
    uint32_t step = step_of(size);
    uint32_t at = size - 1;

    CPI_ASSERT(cpi_cache_count(cache) == 1);
    for (uint32_t i = 0; i < size - 1; i++)
        room[size - 1 - i] = magazine->rounds[i];
    for (uint32_t i = size - 1; i-- > 0; magazine->rounds[i] = room[size - 1 - at])
        at = (at + step) % size;
}

CPI_APART bool cpi_cache_spill_slow(struct cpi_cache *cache, uint32_t node, void *slot)
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
    return true;
}

static bool push_open(struct cpi_cache *cache, void *slot)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    uintptr_t count = cpi_entry_count(active);
    uint32_t stocked = cpi_cache_stocked(cache);

    CPI_ASSERT(slot != NULL);
    cpi_cache_look_at_bound(cache); /* it may be why this is called */
    if (count < cache->depot->limit) {
        active->rounds[count] = slot;
        cpi_cache_set_count(cache, count + 1);
        return true;
    }
    return (stocked < cache->quota && cpi_cache_spill_to_spare(cache, active, stocked, slot)) ||
           cpi_cache_spill_slow(cache, 0, slot);
}

/* --- Opening and closing --- */

/* Takes the loaded magazine out of a closed entry.  Returns 0 if another thread has taken it. */
static uint32_t unload_magazine(struct cpi_cache *cache)
{
    uint32_t node = cpi_cache_loaded(cache);

    if (node != 0 && !cpi_cas_strong(&cache->loaded, &node, 0, /* [out] */
                                     acq_rel, acquire)) /* [lost] */
        node = 0;
    if (node != 0)
        cpi_magazine_set_count(cpi_cache_magazine(cache, node), (uint32_t)cpi_cache_count(cache));
    cpi_cache_set_count(cache, 0);
    return node;
}

/* Gives the spares to the depot that no other thread has taken. */
static void flush_spares(struct cpi_cache *cache)
{
    for (uint32_t i = 0; i < cache->quota_max; i++) {
        uint32_t node = cpi_cache_swap_spare(cache, i, 0);

        if (node != 0)
            cpi_depot_give(cache->depot, &cache->counters, node);
    }
    cpi_cache_set_stocked(cache, 0);
}

/* The entry is closed; tries to open it.  Returns false if it has to stay closed. */
static bool try_to_open(struct cpi_cache *cache, uint32_t node)
{
    cpool_cache_t *active = cpi_cache_active(cache);

    cpi_cache_load(cache, node); /* [open] */
    cpi_cache_look_at_bound(cache);
    cpi_word_store(&active->limit, cache->depot->limit, seq_cst); /* [open] */
    if (CPI_LIKELY(cpi_fetch_add(&cache->registry->closed, 0u, acq_rel) == 0)) /* [check] */
        return true;
    cpi_word_store(&active->limit, 0, release); /* [shut] */
    return false;
}

CPI_APART bool cpi_cache_open(struct cpi_cache *cache)
{
    uint32_t node = unload_magazine(cache);

    if (cache->calm < CPI_CALM) {
        cache->calm++;
    } else if (cpi_load(&cache->registry->closed, acquire) == 0 && /* [before] */
               (!cpi_cache_is_fenced(cache) || cpi_has_barrier())) {
        if (node == 0)
            node = cpi_depot_take_empty(cache->depot, &cache->counters);
        cache->calm = 0;
        if (node != 0 && try_to_open(cache, node))
            return true;
        node = unload_magazine(cache);
    }
    if (node != 0)
        cpi_depot_give(cache->depot, &cache->counters, node);
    if (cpi_cache_stocked(cache) != 0)
        flush_spares(cache);
    return false;
}

CPI_APART void cpi_cache_flush(struct cpi_cache *cache)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    uint32_t node;

    if (cpi_cache_enter(cache, active))
        cpi_word_store(&active->limit, 0, release); /* [shut] */
    node = unload_magazine(cache);
    if (node != 0)
        cpi_depot_give(cache->depot, &cache->counters, node);
    flush_spares(cache);
    cache->calm = CPI_CALM;
    cpi_cache_leave(cache, active);
}

/* --- Whole operations --- */

CPI_APART void *cpi_cache_take(struct cpi_cache *cache)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    void *slot;

    if (cpi_cache_enter(cache, active) || cpi_cache_open(cache))
        slot = pop_open(cache);
    else
        slot = cpi_depot_take_slot(cache->slab, cache->depot, &cache->counters);
    cpi_cache_leave(cache, active);
    return slot;
}

CPI_APART bool cpi_cache_give(struct cpi_cache *cache, void *slot)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    bool given;

    if (cpi_cache_enter(cache, active) || cpi_cache_open(cache))
        given = push_open(cache, slot);
    else
        given = cpi_depot_free_slot(cache->depot, &cache->counters, slot);
    cpi_cache_leave(cache, active);
    return given;
}

bool cpi_cache_refill(struct cpi_cache *cache)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    bool refilled = (cpi_cache_enter(cache, active) || cpi_cache_open(cache)) &&
                    (cpi_cache_count(cache) > 0 || refill(cache, 0) != NULL);

    cpi_cache_leave(cache, active);
    return refilled;
}

/* --- While no thread uses the cache --- */

void cpi_cache_abandon(struct cpi_cache *cache)
{
    cpool_cache_t *active = cpi_cache_active(cache);

    cpi_store(&cache->loaded, 0, relaxed);      /* [alone] */
    cpi_word_store(&active->limit, 0, relaxed); /* [alone] */
    cpi_word_store(&active->count, 0, release); /* [alone] */
}

void cpi_cache_discard(struct cpi_cache *cache)
{
    cpi_cache_abandon(cache);
    cpi_cache_set_stocked(cache, 0);
    for (uint32_t i = 0; i < cache->quota_max; i++)
        cpi_cache_put(cache, i, 0);
}

void cpi_cache_begin(struct cpi_cache *cache, cpool_cache_t *entry, bool inline_path,
                     uint32_t quota, cpool_t *pool)
{
    CPI_ASSERT(entry != NULL && quota >= CPI_QUOTA_MIN && quota <= cache->quota_max);
    cache->entry = entry;
    cpi_store(&cache->active, inline_path ? entry : &cache->hidden, release); /* [active] */
    entry->pool = pool;
    entry->home = cache;
    cache->quota = quota;
    cache->calm = CPI_CALM;
    cpi_store(&cache->countdown, cache->registry->counts_at_once ? 1u : CPI_COUNT_EVERY,
              relaxed); /* [alone] */
    cpi_cache_discard(cache);
    cpi_cache_look_at_bound(cache);
}

/* --- For any thread --- */

uint32_t cpi_cache_steal(struct cpi_cache *victim, bool looks)
{
    if (cpi_load(&victim->stocked, acquire) == 0) /* [glance] */
        return 0;
    for (uint32_t i = 0; i < victim->quota_max; i++) {
        uint32_t node = cpi_load(&victim->spare[i], acquire); /* [see] */

        if (node == 0 || cpi_magazine_count(cpi_depot_magazine(victim->depot, node)) == 0)
            continue;
        if (looks ||
            cpi_cas_strong(&victim->spare[i], &node, 0, acq_rel, acquire)) /* [steal] [see] */
            return node;
    }
    return 0;
}

size_t cpi_cache_rounds(const struct cpi_cache *cache)
{
    const cpool_cache_t *active = cpi_cache_active(cache);
    size_t rounds = 0;

    /* If another thread has taken the loaded magazine, it is still counted until the owner
     * notices. */
    if (cpi_load(&cache->loaded, relaxed) != 0) /* [figures] */
        rounds = cpi_word_load(&active->count, relaxed) & ~CPI_BUSY; /* [figures] */
    for (uint32_t i = 0; i < cache->quota_max; i++) {
        uint32_t node = cpi_load(&cache->spare[i], relaxed); /* [figures] */

        if (node != 0)
            rounds += cpi_magazine_count(cpi_depot_magazine(cache->depot, node));
    }
    return rounds;
}

/* --- Without a cache --- */

void *cpi_depot_take_slot(struct cpi_slab *slab, struct cpi_depot *depot,
                          struct cpi_counters *counters)
{
    uint32_t seen = cpi_depot_drains(depot);
    void *slot = cpi_depot_alloc_slot(depot, counters);
    uintptr_t index;

    if (slot == NULL && !cpi_depot_was_drained(depot, seen) &&
        cpi_cache_bump(slab, depot, 1, 0, &index) == 1)
        slot = cpi_slab_slot(slab, index);
    return slot;
}

void *cpi_take_uncached(struct cpi_slab *slab, struct cpi_depot *depot)
{
    struct cpi_uncached uncached;
    void *slot;

    cpi_depot_enter(depot, &uncached);
    slot = cpi_depot_take_slot(slab, depot, &uncached.counters);
    cpi_depot_leave(depot, &uncached);
    return slot;
}

size_t cpi_cache_bump(struct cpi_slab *slab, struct cpi_depot *depot, uintptr_t n,
                      uintptr_t beyond, uintptr_t *first)
{
    for (;;) {
        uint64_t bounds = cpi_slab_bounds(slab);
        uintptr_t fresh = CPI_BOUNDS_FRESH(bounds);
        uintptr_t limit = CPI_BOUNDS_CAPACITY(bounds) + beyond;
        uintptr_t left = fresh < limit ? limit - fresh : 0;

        left = left < n ? left : n;
        if (left == 0)
            return 0;
        if (!cpi_depot_provide(depot, fresh + left) || !cpi_slab_provide(slab, fresh + left)) {
            n = left / 2; /* the system may have memory for fewer slots */
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
