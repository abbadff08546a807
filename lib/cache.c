/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.c - refilling and spilling.
 *
 * ORDERING TABLE
 *   own     | entry count load        | relaxed | - | -
 *   show    | entry count store       | release | adopt (registry.c) | which magazine is loaded
 *   figures | count and stocked, load | relaxed | - | -
 *   stocked | stocked store           | relaxed | - | -
 *
 * The owner's own accesses need no order.  The release keeps the stores that
 * precede a new count before it, for the child of a fork (see the second
 * invariant in cache.h); it costs nothing on x86, and elsewhere it is paid once
 * a magazine.
 */
#include "cache.h"

#include "atomic.h"

static struct cpi_magazine *magazine_of(const struct cpi_cache *cache, uint32_t node)
{
    return cpi_depot_magazine(cache->depot, node);
}

static uint32_t stocked_spares(const struct cpi_cache *cache)
{
    return cpi_load(&cache->stocked, relaxed); /* [figures] */
}

static void set_stocked(struct cpi_cache *cache, uint32_t stocked)
{
    cpi_store(&cache->stocked, stocked, relaxed); /* [stocked] */
}

static uintptr_t store_count(const struct cpi_cache *cache)
{
    return cpi_word_load(&cache->store->count, relaxed); /* [own] */
}

static void show_count(struct cpi_cache *cache, uintptr_t count)
{
    cpi_word_store(&cache->store->count, count, release); /* [show] */
}

/* Shows the fast path a magazine that is in the cache's hands, in place of the
 * one it showed, which has been put elsewhere and whose count is shown as 0. */
static void load(struct cpi_cache *cache, uint32_t node)
{
    struct cpi_magazine *magazine = magazine_of(cache, node);

    cache->loaded = node;
    cache->store->rounds = magazine->rounds;
    cache->store->limit = cache->depot->limit;
    show_count(cache, cpi_magazine_count(magazine));
    cpi_magazine_set_count(magazine, 0);
}

/* Writes the loaded magazine's count down in it; the fast path sees nothing
 * more.  Returns the magazine, 0 if none was loaded. */
static uint32_t unload(struct cpi_cache *cache)
{
    if (cache->loaded != 0)
        cpi_magazine_set_count(magazine_of(cache, cache->loaded), (uint32_t)store_count(cache));
    cache->store->limit = 0;
    show_count(cache, 0);
    return cache->loaded;
}

/* Puts an empty magazine, named by dealings.giving, where a spare is missing,
 * or into the depot. */
static void keep_or_give_empty(struct cpi_cache *cache, uint32_t node)
{
    uint32_t i;

    for (i = stocked_spares(cache); i < CPI_SPARES; i++) {
        if (cache->spare[i] == 0) {
            cache->spare[i] = node;
            cpi_depot_gives(&cache->dealings, 0);
            return;
        }
    }
    cpi_depot_give(cache->depot, &cache->dealings, node);
}

/* Loads `node`, which dealings.taking names, in place of an empty magazine or
 * none. */
static void replace_empty(struct cpi_cache *cache, uint32_t node)
{
    uint32_t old = unload(cache);

    cpi_depot_gives(&cache->dealings, old);
    load(cache, node);
    cpi_depot_taken(&cache->dealings);
    if (old != 0)
        keep_or_give_empty(cache, old);
}

static bool refill_from_spare(struct cpi_cache *cache)
{
    uint32_t stocked = stocked_spares(cache);
    uint32_t node;

    if (stocked == 0)
        return false;
    node = cache->spare[stocked - 1];
    cpi_depot_takes(&cache->dealings, node);
    cache->spare[stocked - 1] = unload(cache);
    set_stocked(cache, stocked - 1);
    load(cache, node);
    cpi_depot_taken(&cache->dealings);
    return true;
}

static bool refill_from_depot(struct cpi_cache *cache)
{
    uint32_t node = cpi_depot_take_stocked(cache->depot, &cache->dealings);

    if (node == 0)
        node = cpi_depot_take_remnant(cache->depot, &cache->dealings);
    if (node == 0)
        return false;
    replace_empty(cache, node);
    return true;
}

size_t cpi_cache_claim(struct cpi_slab *slab, struct cpi_depot *depot, uintptr_t n,
                       uintptr_t *first)
{
    for (;;) {
        uintptr_t fresh = cpi_slab_fresh(slab);
        uintptr_t left = slab->capacity - fresh;

        if (left > n)
            left = n;
        if (left == 0 || !cpi_depot_provide(depot, fresh + left) ||
            !cpi_slab_provide(slab, fresh + left))
            return 0;
        if (cpi_slab_claim(slab, fresh, left)) {
            *first = fresh;
            return left;
        }
    }
}

static void load_empty(struct cpi_cache *cache)
{
    uint32_t node = cpi_depot_take_empty(cache->depot, &cache->dealings);

    load(cache, node);
    cpi_depot_taken(&cache->dealings);
}

/* Slots that were claimed and are not yet shown are lost to the child of a fork
 * at this instant; <cpool.h> says so. */
static bool refill_from_fresh(struct cpi_cache *cache)
{
    uintptr_t first;
    size_t n = cpi_cache_claim(cache->slab, cache->depot, cache->depot->limit, &first);
    size_t i;

    if (n == 0)
        return false;
    if (cache->loaded == 0)
        load_empty(cache);
    for (i = 0; i < n; i++)
        cache->store->rounds[i] = cpi_slab_slot(cache->slab, first + n - 1 - i);
    show_count(cache, n);
    return true;
}

/* Frees of slots below the bound take the fast path. */
static void look_at_bound(struct cpi_cache *cache)
{
    cache->store->bound = cpi_slab_fresh(cache->slab);
}

bool cpi_cache_refill(struct cpi_cache *cache)
{
    bool refilled = refill_from_spare(cache) || refill_from_depot(cache) ||
                    refill_from_fresh(cache);

    look_at_bound(cache);
    return refilled;
}

/* A full magazine becomes a spare, and an empty spare, or one from the depot,
 * is loaded. */
static void spill_to_spare(struct cpi_cache *cache, uint32_t stocked)
{
    uint32_t node = cache->spare[stocked];

    if (node != 0)
        cpi_depot_takes(&cache->dealings, node);
    else
        node = cpi_depot_take_empty(cache->depot, &cache->dealings);
    cache->spare[stocked] = unload(cache);
    set_stocked(cache, stocked + 1);
    load(cache, node);
    cpi_depot_taken(&cache->dealings);
}

static void spill_to_depot(struct cpi_cache *cache)
{
    uint32_t node = cpi_depot_take_empty(cache->depot, &cache->dealings);
    uint32_t full;

    cpi_depot_gives(&cache->dealings, cache->loaded);
    full = unload(cache);
    load(cache, node);
    cpi_depot_taken(&cache->dealings);
    cpi_depot_give(cache->depot, &cache->dealings, full);
}

void cpi_cache_spill(struct cpi_cache *cache)
{
    uint32_t stocked = stocked_spares(cache);

    look_at_bound(cache);
    if (cache->loaded == 0)
        load_empty(cache);
    else if (stocked < CPI_SPARES)
        spill_to_spare(cache, stocked);
    else
        spill_to_depot(cache);
}

void *cpi_cache_alloc(struct cpi_cache *cache)
{
    uintptr_t count = store_count(cache);
    void *slot;

    if (count == 0) {
        if (!cpi_cache_refill(cache))
            return NULL;
        count = store_count(cache);
    }
    slot = cache->store->rounds[count - 1];
    cpi_word_store(&cache->store->count, count - 1, relaxed); /* [own] */
    return slot;
}

void cpi_cache_free(struct cpi_cache *cache, void *slot)
{
    uintptr_t count = store_count(cache);

    if (count == cache->store->limit) {
        cpi_cache_spill(cache);
        count = store_count(cache);
    } else {
        look_at_bound(cache);
    }
    cache->store->rounds[count] = slot;
    show_count(cache, count + 1);
}

void cpi_cache_flush(struct cpi_cache *cache)
{
    uint32_t i;

    cpi_depot_gives(&cache->dealings, cache->loaded);
    if (unload(cache) != 0) {
        uint32_t node = cache->loaded;

        cache->loaded = 0;
        cpi_depot_give(cache->depot, &cache->dealings, node);
    }
    set_stocked(cache, 0);
    for (i = 0; i < CPI_SPARES; i++) {
        uint32_t node = cache->spare[i];

        if (node == 0)
            continue;
        cpi_depot_gives(&cache->dealings, node);
        cache->spare[i] = 0;
        cpi_depot_give(cache->depot, &cache->dealings, node);
    }
}

void cpi_cache_discard(struct cpi_cache *cache)
{
    uint32_t i;

    cache->loaded = 0;
    cache->store->limit = 0;
    show_count(cache, 0);
    set_stocked(cache, 0);
    for (i = 0; i < CPI_SPARES; i++)
        cache->spare[i] = 0;
    cpi_depot_taken(&cache->dealings);
    cpi_depot_gives(&cache->dealings, 0);
}

void cpi_cache_open(struct cpi_cache *cache, cpool_cache_t *entry, bool inline_path,
                    cpool_t *pool)
{
    cache->entry = entry;
    cache->store = inline_path ? entry : &cache->own;
    entry->pool = pool;
    entry->home = cache;
    cpi_cache_discard(cache);
    look_at_bound(cache);
}

size_t cpi_cache_rounds(const struct cpi_cache *cache)
{
    return (size_t)store_count(cache) + (size_t)stocked_spares(cache) * cache->depot->limit;
}
