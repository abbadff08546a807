/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.c - refilling and spilling, which is the owner's.
 *
 * ORDERING TABLE
 *   own     | entry count load        | relaxed | - | -
 *   show    | entry count, loaded store | release | recall.c's forked | which magazine is loaded
 *   spares  | stocked load            | relaxed | - | -
 *   stocked | stocked store           | release | cache_shared.c's glance | the mark of the owner
 *                                                             that took the spares out
 *   offer   | spare store, CAS        | release | cache_shared.c's steal, see | the magazine's
 *                                                             count and rounds; the owner's mark
 *   see     | spare load, CAS failure | relaxed | - | -
 *   active  | active pointer store    | relaxed | - | -
 *
 * The owner's own accesses need no order.  The release keeps the stores that
 * precede a new count before it, for the child of a fork, which finds the cache as
 * it was at some instant.  It costs nothing on x86, and elsewhere it is paid once a
 * magazine.
 *
 * A spare that its owner takes back needs no acquire: the owner itself put it
 * there.
 */
#include "cache.h"

#include "atomic.h"

/* Near the end a cache takes this part of the fresh slots that are left, and of
 * the last full magazine. */
#define CPI_FRESH_PART 16u
#define CPI_DRY_PART 4u

static struct cpi_magazine *magazine_of(const struct cpi_cache *cache, uint32_t node)
{
    return cpi_depot_magazine(cache->depot, node);
}

static uint32_t stocked_spares(const struct cpi_cache *cache)
{
    return cpi_load(&cache->stocked, relaxed); /* [spares] */
}

static void set_stocked(struct cpi_cache *cache, uint32_t stocked)
{
    cpi_store(&cache->stocked, stocked, release); /* [stocked] */
}

static uintptr_t active_count(const struct cpi_cache *cache)
{
    return cpi_word_load(&cpi_cache_active(cache)->count, relaxed); /* [own] */
}

static void show_count(struct cpi_cache *cache, uintptr_t count)
{
    cpi_word_store(&cpi_cache_active(cache)->count, count, release); /* [show] */
}

/* Shows the fast path a magazine that is in the cache's hands, in place of the
 * one it showed, which has been put elsewhere and whose count is shown as 0. */
static void load(struct cpi_cache *cache, uint32_t node)
{
    struct cpi_magazine *magazine = magazine_of(cache, node);

    cpi_store(&cache->loaded, node, release); /* [show] */
    cpi_cache_active(cache)->rounds = magazine->rounds;
    cpi_cache_active(cache)->limit = cache->depot->limit;
    show_count(cache, cpi_magazine_count(magazine));
    cpi_magazine_set_count(magazine, 0);
}

/* Writes the loaded magazine's count down in it, and shows the fast path none:
 * another must be loaded, or `loaded` cleared.  An empty one need not be
 * unloaded.  Returns the magazine, 0 if none was loaded. */
static uint32_t unload(struct cpi_cache *cache)
{
    if (cpi_cache_loaded(cache) != 0)
        cpi_magazine_set_count(magazine_of(cache, cpi_cache_loaded(cache)),
                               (uint32_t)active_count(cache));
    cpi_cache_active(cache)->limit = 0;
    show_count(cache, 0);
    return cpi_cache_loaded(cache);
}

/* The i-th place of the ring. */
static _Atomic uint32_t *place(struct cpi_cache *cache, uint32_t i)
{
    uint32_t at = cache->bottom + i;

    return &cache->spare[at < cache->ring_size ? at : at - cache->ring_size];
}

static uint32_t see_spare(struct cpi_cache *cache, uint32_t i)
{
    return cpi_load(place(cache, i), relaxed); /* [see] */
}

static void put_spare(struct cpi_cache *cache, uint32_t i, uint32_t node)
{
    cpi_store(place(cache, i), node, release); /* [offer] */
}

/* Puts `replacement` in the place of a spare; false if the spare was recalled. */
static bool swap_spare(struct cpi_cache *cache, uint32_t i, uint32_t node, uint32_t replacement)
{
    /* [offer] [see] */
    return cpi_cas_strong(place(cache, i), &node, replacement, release, relaxed);
}

/* Puts an empty magazine where a spare is missing, or into the depot. */
static void keep_or_give_empty(struct cpi_cache *cache, uint32_t node)
{
    uint32_t i;

    for (i = stocked_spares(cache); i < cache->target; i++) {
        if (see_spare(cache, i) == 0) {
            put_spare(cache, i, node);
            return;
        }
    }
    cpi_depot_give(cache->depot, &cache->counters, node);
}

/* Loads a magazine in place of an empty one or none; the empty one's own count is 0
 * already. */
static void replace_empty(struct cpi_cache *cache, uint32_t node)
{
    uint32_t old = cpi_cache_loaded(cache);

    load(cache, node);
    if (old != 0)
        keep_or_give_empty(cache, old);
}

/* Gives a spare to the depot, if it is still there. */
static void give_spare(struct cpi_cache *cache, uint32_t i)
{
    uint32_t node = see_spare(cache, i);

    if (node != 0 && swap_spare(cache, i, node, 0))
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

/* Does without half of the spares that stayed full since the last review. */
static void review(struct cpi_cache *cache)
{
    uint32_t stocked = stocked_spares(cache);
    uint32_t unneeded = (cache->lowest < stocked ? cache->lowest : stocked) / 2;
    uint32_t i;

    cache->target -= unneeded;
    for (i = stocked - unneeded; unneeded > 0 && i < cache->ring_size; i++)
        if (i < stocked || i >= cache->target)
            give_spare(cache, i);
    set_stocked(cache, stocked - unneeded);
    cache->lowest = stocked - unneeded;
}

/* After each swap with a spare. */
static void note_swap(struct cpi_cache *cache)
{
    uint32_t stocked = stocked_spares(cache);

    if (stocked < cache->lowest)
        cache->lowest = stocked;
    if (cpi_depot_swapped(&cache->counters) % CPI_REVIEW_SWAPS == 0)
        review(cache);
}

/* Uses twice as many spares as before, within the quota. */
static void widen(struct cpi_cache *cache)
{
    cache->target = cache->target < cache->quota - cache->target ? cache->target * 2 : cache->quota;
}

/* Before each exchange of a full magazine with the depot. */
static void note_exchange(struct cpi_cache *cache, bool gives)
{
    uint64_t retries = cpi_depot_retries(&cache->counters);

    if (gives || cache->gave || retries != cache->retries)
        widen(cache);
    cache->gave = gives;
    cache->retries = retries;
}

static bool refill_from_spare(struct cpi_cache *cache)
{
    uint32_t stocked = stocked_spares(cache);

    while (stocked-- > 0) {
        uint32_t node = see_spare(cache, stocked);
        bool taken = node != 0 && swap_spare(cache, stocked, node, cpi_cache_loaded(cache));

        set_stocked(cache, stocked);
        if (taken) {
            load(cache, node);
            note_swap(cache);
            return true;
        }
    }
    return false;
}

/* Leaves most of the full magazine just loaded to other threads: the pool is
 * nearly dry, and what is loaded nobody else can reach. */
static void leave_most(struct cpi_cache *cache)
{
    uint32_t rest = cpi_depot_take_empty(cache->depot, &cache->counters);
    uintptr_t count = active_count(cache);
    uintptr_t kept = (count + CPI_DRY_PART - 1) / CPI_DRY_PART;
    struct cpi_magazine *magazine;
    uintptr_t i;

    if (rest == 0)
        return;
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

/* Frees of slots below the bound take the fast path. */
static void look_at_bound(struct cpi_cache *cache)
{
    cpi_cache_active(cache)->bound = cpi_slab_fresh(cache->slab);
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
    note_exchange(cache, false);
    for (i = 0; i < n; i++)
        cpi_cache_active(cache)->rounds[i] = cpi_slab_slot(cache->slab, first + n - 1 - i);
    show_count(cache, n);
    look_at_bound(cache);
    return true;
}

/* From the depot, or else fresh; but not where a draining thread has emptied it: fresh
 * slots stay in circulation for good. */
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
    return refilled;
}

/* The full magazine changes places with an empty spare, which is returned.  0 if
 * there was none, or a stealing thread recalled it by mistake. */
static uint32_t swap_with_empty(struct cpi_cache *cache, uint32_t stocked)
{
    uint32_t node = see_spare(cache, stocked);
    uint32_t full;

    if (node == 0)
        return 0;
    full = unload(cache);
    if (swap_spare(cache, stocked, node, full))
        return node;
    load(cache, full);
    return 0;
}

/* The full magazine becomes a spare, and an empty spare, or one from the depot,
 * is loaded. */
static bool spill_to_spare(struct cpi_cache *cache, uint32_t stocked)
{
    uint32_t node = swap_with_empty(cache, stocked);

    if (node == 0) {
        node = cpi_depot_take_empty(cache->depot, &cache->counters);
        if (node == 0)
            return false;
        put_spare(cache, stocked, unload(cache));
    }
    set_stocked(cache, stocked + 1);
    load(cache, node);
    note_swap(cache);
    return true;
}

/* The oldest spare goes to the depot: what was freed last is used again first. */
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

    look_at_bound(cache);
    if (cpi_cache_loaded(cache) == 0)
        return load_empty(cache);
    if (stocked >= cache->target)
        give_oldest(cache, stocked--);
    if (!spill_to_spare(cache, stocked))
        return false;
    if (cpi_depot_is_dry(cache->depot))
        give_stocked(cache);
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
    set_stocked(cache, 0);
    for (i = 0; i < cache->ring_size; i++)
        put_spare(cache, i, 0);
}

void cpi_cache_open(struct cpi_cache *cache, cpool_cache_t *entry, bool inline_path,
                    uint32_t quota, cpool_t *pool)
{
    cache->entry = entry;
    cpi_store(&cache->active, inline_path ? entry : &cache->hidden, relaxed); /* [active] */
    entry->pool = pool;
    entry->home = cache;
    cache->quota = quota;
    cache->target = CPI_QUOTA_MIN;
    cache->bottom = 0;
    cache->lowest = 0;
    cache->gave = false;
    cache->retries = cpi_depot_retries(&cache->counters);
    cpi_cache_discard(cache);
    look_at_bound(cache);
}
