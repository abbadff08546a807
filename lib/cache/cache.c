/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.c - refilling and spilling, which is the owner's.
 *
 * ORDERING TABLE (that of the spares is in cache_swap.h)
 *   show    | loaded store            | release | registry.c's forked | which magazine is loaded
 *   own     | retries load            | relaxed | - | -
 *   active  | active and visible pointer store | relaxed | - | -
 */
#include "cache/cache.h"
#include "cache/cache_swap.h"

#include "base/atomic.h"
#include "base/probes.h"

/* Near the end a cache takes this part of the fresh slots that are left, and of
 * the last full magazine. */
#define CPI_FRESH_PART 16u
#define CPI_DRY_PART 4u

bool cpi_cache_is_valid(const struct cpi_cache *cache)
{
    return cache->quota >= CPI_QUOTA_MIN && cache->quota <= cache->ring_size &&
           cache->target >= CPI_QUOTA_MIN && cache->target <= cache->quota &&
           cache->bottom < cache->ring_size && cache->lowest <= cache->ring_size &&
           stocked_spares(cache) <= cache->target &&
           (cpi_cache_loaded(cache) != 0 || active_count(cache) == 0) &&
           active_count(cache) <= cpi_cache_active(cache)->limit &&
           (cpi_cache_loaded(cache) == 0 ||
            cpi_magazine_count(magazine_of(cache, cpi_cache_loaded(cache))) == 0);
}

/* Puts an empty magazine where a spare is missing, or into the depot. */
static void keep_or_give_empty(struct cpi_cache *cache, uint32_t node)
{
    uint32_t i;

    for (i = stocked_spares(cache); cache->vacant && i < cache->target; i++) {
        if (see_spare(cache, i) == 0) {
            put_spare(cache, i, node);
            return;
        }
    }
    cache->vacant = false;
    cpi_depot_give(cache->depot, &cache->counters, node);
}

/* Loads a magazine in place of an empty one or none.  The empty one's own count is 0
 * already. */
static void replace_empty(struct cpi_cache *cache, uint32_t node)
{
    uint32_t old = cpi_cache_loaded(cache);

    CPI_ASSERT(old != node && active_count(cache) == 0);
    load(cache, node);
    if (old != 0)
        keep_or_give_empty(cache, old);
}

/* Gives a spare to the depot, if it is still there. */
static void give_spare(struct cpi_cache *cache, uint32_t i)
{
    uint32_t node = see_spare(cache, i);

    cache->vacant = true;
    if (node != 0 && swap_at(place(cache, i), node, 0))
        cpi_depot_give(cache->depot, &cache->counters, node);
}

/* Gives all full spares to the depot. */
static void give_stocked(struct cpi_cache *cache)
{
    uint32_t stocked = stocked_spares(cache);

    while (stocked > 0) {
        give_spare(cache, --stocked);
        set_stocked(cache, stocked);
    }
}

CPI_COLD void cpi_cache_review(struct cpi_cache *cache)
{
    uint32_t stocked = stocked_spares(cache);
    uint32_t unneeded = (cache->lowest < stocked ? cache->lowest : stocked) / 2;
    uint32_t i;

    CPI_ASSERT(unneeded < cache->target);
    cache->target -= unneeded;
    for (i = stocked - unneeded; unneeded > 0 && i < cache->ring_size; i++)
        if (i < stocked || i >= cache->target)
            give_spare(cache, i);
    set_stocked(cache, stocked - unneeded);
    cache->lowest = stocked - unneeded;
    CPI_ASSERT(cpi_cache_is_valid(cache));
}

/* Uses twice as many spares as before, within the quota. */
static void widen(struct cpi_cache *cache)
{
    cache->vacant = cache->vacant || cache->target < cache->quota;
    cache->target = cache->target < cache->quota - cache->target ? cache->target * 2 : cache->quota;
}

/* Before each exchange of a full magazine with the depot. */
static void note_exchange(struct cpi_cache *cache, bool gives)
{
    uint64_t retries = cpi_load(&cache->counters.retries, relaxed); /* [own] */

    if (gives || cache->gave || retries != cache->retries)
        widen(cache);
    cache->gave = gives;
    cache->retries = retries;
}

static bool refill_from_spare(struct cpi_cache *cache)
{
    while (stocked_spares(cache) > 0)
        if (cpi_cache_take_spare(cache, stocked_spares(cache) - 1))
            return true;
    return false;
}

/* Leaves most of the full magazine just loaded to other threads, because the
 * pool is nearly dry, and no other thread can reach a loaded magazine. */
CPI_COLD static void leave_most(struct cpi_cache *cache)
{
    uint32_t rest = cpi_depot_take_empty(cache->depot, &cache->counters);
    uintptr_t count = active_count(cache);
    uintptr_t kept = (count + CPI_DRY_PART - 1) / CPI_DRY_PART;
    struct cpi_magazine *magazine;
    uintptr_t i;

    if (rest == 0)
        return;
    CPI_ASSERT(kept > 0 && kept <= count);
    magazine = magazine_of(cache, rest);
    for (i = kept; i < count; i++)
        magazine->rounds[i - kept] = cpi_cache_active(cache)->rounds[i];
    show_count(cache, kept);
    cpi_magazine_set_count(magazine, (uint32_t)(count - kept));
    cpi_depot_give(cache->depot, &cache->counters, rest);
}

static bool refill_from_depot(struct cpi_cache *cache)
{
    uint32_t node = cpi_depot_take_stocked(cache->depot, &cache->counters);

    if (node == 0) {
        node = cpi_depot_take_partial(cache->depot, &cache->counters);
        if (node != 0)
            replace_empty(cache, node);
        return node != 0;
    }
    note_exchange(cache, false);
    replace_empty(cache, node);
    if (cpi_depot_is_dry(cache->depot)) {
        if (cpi_depot_has_stocked(cache->depot))
            cpi_depot_set_dry(cache->depot, false);
        else
            leave_most(cache);
    }
    return true;
}

static bool load_empty(struct cpi_cache *cache)
{
    uint32_t node = cpi_depot_take_empty(cache->depot, &cache->counters);

    if (node != 0)
        load(cache, node);
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
    CPI_ASSERT(n <= cache->depot->limit && active_count(cache) == 0);
    note_exchange(cache, false);
    for (i = 0; i < n; i++)
        cpi_cache_active(cache)->rounds[i] = cpi_slab_slot(cache->slab, first + n - 1 - i);
    show_count(cache, n);
    look_at_bound(cache);
    return true;
}

/* From the depot, or else fresh, but not where a draining thread has emptied it,
 * because fresh slots stay in circulation for good. */
static bool refill_from_pool(struct cpi_cache *cache)
{
    uint32_t seen = cpi_depot_drains(cache->depot);

    return refill_from_depot(cache) ||
           (!cpi_depot_was_drained(cache->depot, seen) && cpi_cache_refill_fresh(cache, 0));
}

bool cpi_cache_refill(struct cpi_cache *cache)
{
    bool refilled = refill_from_spare(cache) || refill_from_pool(cache);

    look_at_bound(cache);
    CPI_PROBE2(refill, cache->entry->pool, active_count(cache));
    CPI_ASSERT(cpi_cache_is_valid(cache) && refilled == (active_count(cache) > 0));
    return refilled;
}

/* The full magazine becomes a spare, and an empty spare, or one from the depot,
 * is loaded. */
static bool spill_to_spare(struct cpi_cache *cache, uint32_t stocked)
{
    uint32_t node;

    if (cpi_cache_put_spare(cache, stocked))
        return true;
    node = cpi_depot_take_empty(cache->depot, &cache->counters);
    if (node == 0)
        return false;
    put_spare(cache, stocked, unload(cache));
    load(cache, node);
    set_stocked(cache, stocked + 1);
    return true;
}

/* The oldest spare goes to the depot, so that the slots freed last are used again first. */
static void give_oldest(struct cpi_cache *cache, uint32_t stocked)
{
    note_exchange(cache, true);
    give_spare(cache, 0);
    cache->bottom = cache->bottom + 1 < cache->ring_size ? cache->bottom + 1 : 0;
    set_stocked(cache, stocked - 1);
}

bool cpi_cache_spill(struct cpi_cache *cache)
{
    uint32_t stocked = stocked_spares(cache);

    CPI_PROBE2(spill, cache->entry->pool, stocked);
    look_at_bound(cache);
    if (cpi_cache_loaded(cache) == 0)
        return load_empty(cache);
    if (stocked >= cache->target)
        give_oldest(cache, stocked--);
    if (!spill_to_spare(cache, stocked))
        return false;
    if (cpi_depot_is_dry(cache->depot))
        give_stocked(cache);
    CPI_ASSERT(cpi_cache_is_valid(cache) && active_count(cache) < cache->depot->limit);
    return true;
}

void *cpi_cache_alloc(struct cpi_cache *cache)
{
    void *slot = cpi_cache_pop(cache);

    if (slot == NULL && cpi_cache_refill(cache))
        slot = cpi_cache_pop(cache);
    return slot;
}

bool cpi_cache_free(struct cpi_cache *cache, void *slot)
{
    if (cpi_cache_push(cache, slot)) {
        look_at_bound(cache); /* that may be why it came here */
        return true;
    }
    return cpi_cache_spill(cache) && cpi_cache_push(cache, slot);
}

uint32_t cpi_cache_detach(struct cpi_cache *cache)
{
    uint32_t node = cpi_cache_loaded(cache);

    /* Where nothing is loaded the active entry shows nothing, and a stealing thread that comes
     * late, to a cache that is being opened anew, must not write. */
    if (node == 0)
        return 0;
    unload(cache);
    cpi_store(&cache->loaded, 0, release); /* [show] */
    return node;
}

void cpi_cache_flush_spares(struct cpi_cache *cache)
{
    uint32_t i;

    for (i = 0; i < cache->ring_size; i++)
        give_spare(cache, i);
    set_stocked(cache, 0);
}

void cpi_cache_flush(struct cpi_cache *cache)
{
    uint32_t node = cpi_cache_detach(cache);

    if (node != 0)
        cpi_depot_give(cache->depot, &cache->counters, node);
    cpi_cache_flush_spares(cache);
    CPI_ASSERT(cpi_cache_loaded(cache) == 0 && stocked_spares(cache) == 0);
}

void cpi_cache_abandon(struct cpi_cache *cache)
{
    cpi_store(&cache->loaded, 0, release); /* [show] */
    cpi_cache_active(cache)->limit = 0;
    show_count(cache, 0);
}

void cpi_cache_discard(struct cpi_cache *cache)
{
    uint32_t i;

    cpi_cache_abandon(cache);
    cache->vacant = true;
    set_stocked(cache, 0);
    for (i = 0; i < cache->ring_size; i++)
        put_spare(cache, i, 0);
}

void cpi_cache_open(struct cpi_cache *cache, cpool_cache_t *entry, bool inline_path,
                    uint32_t quota, cpool_t *pool)
{
    CPI_ASSERT(entry != NULL && quota >= CPI_QUOTA_MIN && quota <= cache->ring_size);
    cache->entry = entry;
    cache->shown = inline_path;
    cpi_store(&cache->active, inline_path ? entry : &cache->hidden, relaxed); /* [active] */
    cpi_store(&cache->visible, cpi_cache_active(cache), relaxed);            /* [active] */
    entry->pool = pool;
    entry->home = cache;
    cache->quota = quota;
    cache->target = CPI_QUOTA_MIN;
    cache->bottom = 0;
    cache->lowest = 0;
    cache->gave = false;
    cache->until_count = CPI_COUNT_EVERY;
    cache->retries = cpi_load(&cache->counters.retries, relaxed); /* [own] */
    cpi_cache_discard(cache);
    look_at_bound(cache);
}

void cpi_cache_show_typed(struct cpi_cache *cache, cpool_cache_t *entry)
{
    cpi_cache_flush(cache);
    cpi_store(&cache->visible, NULL, relaxed); /* [active] */
    cpi_store(&cache->active, entry, relaxed); /* [active] */
    look_at_bound(cache);
}
