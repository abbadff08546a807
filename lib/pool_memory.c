/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_memory.c - growing, shrinking, and giving memory back.
 *
 * Floor 6.
 *
 * Trimming and shrinking collect the depot: they take all its magazines, mark
 * the slots in them in a bitmap, do what they are there for, and fill the
 * magazines again in order of address.  They hold the library's lock, so that
 * there is one collector at a time, and none at the moment of a fork.  An alloc
 * that finds the depot empty meanwhile waits until something is there again.
 *
 * ORDERING TABLE
 *   count  | keeper counters           | relaxed | - | -
 */
#include "pool_impl.h"

#include <string.h>

#include "atomic.h"
#include "bits.h"
#include "os.h"
#include "quiet.h"
#include "recall.h"

/* A pool that grows by itself grows by half, but not by more slots than this. */
#define CPI_GROWTH_MAX ((uintptr_t)1024 * 1024)

#define CPI_WORD_BITS 64u

/* The depot's slots, while they are collected. */
struct collection {
    cpool_t *pool;
    struct cpi_dealings dealings;
    struct cpi_tagstack magazines; /* emptied ones, as many as the slots will fill */
    uintptr_t held;                /* how many those are */
    uint64_t *bitmap;              /* bit i: slot i is in hand */
    size_t bitmap_size;            /* bytes */
    uintptr_t slots;               /* handed out so far: no marked one lies above */
    uintptr_t marked;
};

void cpi_keeper_init(struct cpi_keeper *keeper)
{
    memset(keeper, 0, sizeof *keeper);
}

/* --- The collection --- */

static bool is_marked(const struct collection *collection, uintptr_t index)
{
    return (collection->bitmap[index / CPI_WORD_BITS] >> index % CPI_WORD_BITS & 1u) != 0;
}

static void mark(struct collection *collection, uintptr_t index)
{
    /* What an unchecked pool's caller has freed twice becomes one slot again. */
    if (is_marked(collection, index))
        return;
    collection->bitmap[index / CPI_WORD_BITS] |= (uint64_t)1 << index % CPI_WORD_BITS;
    collection->marked++;
}

static void unmark(struct collection *collection, uintptr_t index)
{
    collection->bitmap[index / CPI_WORD_BITS] &= ~((uint64_t)1 << index % CPI_WORD_BITS);
    collection->marked--;
}

static void empty_magazine(struct collection *collection, uint32_t node)
{
    cpool_t *pool = collection->pool;
    struct cpi_magazine *magazine = cpi_depot_magazine(&pool->depot, node);
    uint32_t count = cpi_magazine_count(magazine);
    uint32_t i;

    for (i = 0; i < count; i++)
        mark(collection, cpi_slab_index(&pool->slab, magazine->rounds[i]));
    cpi_magazine_set_count(magazine, 0);
    /* No more than are needed: frees meanwhile want empty magazines, too. */
    if (collection->held * pool->depot.limit >= collection->marked) {
        cpi_depot_give(&pool->depot, &collection->dealings, node);
        return;
    }
    cpi_tagstack_push(&collection->magazines, &pool->depot.links, node);
    collection->held++;
}

/* With the lock held.  False if there is no memory for the bitmap. */
static bool collect(struct collection *collection, cpool_t *pool)
{
    struct cpi_depot *depot = &pool->depot;
    uint32_t node;

    memset(collection, 0, sizeof *collection);
    collection->pool = pool;
    /* Slots claimed and freed by others meanwhile may turn up, too. */
    collection->bitmap_size = (pool->slab.slots / CPI_WORD_BITS + 1) * sizeof(uint64_t);
    collection->bitmap = cpi_os_map(collection->bitmap_size);
    if (collection->bitmap == NULL)
        return false;
    cpi_roster_visit(&pool->roster, &collection->dealings);
    cpi_depot_begin_collection(depot);
    while ((node = cpi_depot_take_stocked(depot, &collection->dealings)) != 0 ||
           (node = cpi_depot_take_remnant(depot, &collection->dealings)) != 0)
        empty_magazine(collection, node);
    collection->slots = cpi_slab_fresh(&pool->slab);
    return true;
}

/* The next emptied magazine, filled with up to `rounds` marked slots from below
 * *above downwards, so that the lowest comes out first. */
static uint32_t fill_magazine(struct collection *collection, uintptr_t *above, uint32_t rounds)
{
    cpool_t *pool = collection->pool;
    uint64_t retries = 0;
    uint32_t node = cpi_tagstack_pop(&collection->magazines, &pool->depot.links,
                                     &collection->dealings.taking, &retries);
    struct cpi_magazine *magazine = cpi_depot_magazine(&pool->depot, node);
    uint32_t count = 0;

    while (count < rounds) {
        while (!is_marked(collection, --*above))
            ;
        magazine->rounds[count++] = cpi_slab_slot(&pool->slab, *above);
    }
    cpi_magazine_set_count(magazine, count);
    collection->marked -= count;
    return node;
}

/* Gives everything back, full magazines with the highest slots first, so that
 * those with the lowest lie on top. */
static void redistribute(struct collection *collection)
{
    cpool_t *pool = collection->pool;
    uint32_t limit = pool->depot.limit;
    uintptr_t above = collection->slots;
    uint32_t odd = (uint32_t)(collection->marked % limit);
    uint32_t node;

    if (odd != 0)
        cpi_depot_give(&pool->depot, &collection->dealings,
                       fill_magazine(collection, &above, odd));
    while (collection->marked != 0)
        cpi_depot_give(&pool->depot, &collection->dealings,
                       fill_magazine(collection, &above, limit));
    while ((node = cpi_tagstack_top(&collection->magazines)) != 0)
        cpi_depot_give(&pool->depot, &collection->dealings,
                       fill_magazine(collection, &above, 0));
    cpi_depot_end_collection(&pool->depot);
    cpi_roster_account(&pool->roster, &collection->dealings);
    cpi_os_release(collection->bitmap, collection->bitmap_size);
}

/* --- Giving back --- */

/* Purges the whole pages among the slots first .. end - 1, which are in hand;
 * returns the bytes that were resident. */
static size_t purge(cpool_t *pool, uintptr_t first, uintptr_t end)
{
    size_t page = pool->slab.extent.page;
    uintptr_t from = cpi_align_up((uintptr_t)cpi_slab_slot(&pool->slab, first), page);
    uintptr_t to = cpi_align_down((uintptr_t)cpi_slab_slot(&pool->slab, end), page);
    size_t resident;

    if (to <= from)
        return 0;
    resident = cpi_os_resident((void *)from, to - from);
    if (resident == 0 || !cpi_os_purge((void *)from, to - from))
        return 0;
    return resident;
}

/* Checked pools keep guard bytes between the slots; a caller's memory is his. */
static bool may_purge(const cpool_t *pool)
{
    return pool->region_owned && !pool->checked;
}

/* Purges the slots in hand. */
static size_t purge_marked(const struct collection *collection)
{
    uintptr_t end = collection->slots;
    size_t bytes = 0;

    while (end > 0) {
        uintptr_t first = end;

        while (first > 0 && is_marked(collection, first - 1))
            first--;
        if (first < end)
            bytes += purge(collection->pool, first, end);
        end = first;
        while (end > 0 && !is_marked(collection, end - 1))
            end--;
    }
    return bytes;
}

static size_t trim(cpool_t *pool)
{
    struct collection collection;
    size_t bytes = 0;

    cpi_lock();
    if (collect(&collection, pool)) {
        if (may_purge(pool))
            bytes = purge_marked(&collection);
        redistribute(&collection);
        cpi_fetch_add(&pool->keeper.trims, 1u, relaxed); /* [count] */
    }
    cpi_unlock();
    return bytes;
}

size_t cpool_trim(cpool_t *pool)
{
    struct cpi_cache *cache;
    size_t bytes;

    if (!cpi_pool_is_ours(pool, "cpool_trim"))
        return 0;
    cache = cpi_registry_known_cache(&pool->roster);
    if (cache != NULL)
        cpi_recall_flush(cache);
    bytes = trim(pool);
    cpi_pool_settle(pool);
    cpi_quiet_report("cpool_trim");
    return bytes;
}

static bool depot_is_empty(const struct cpi_depot *depot)
{
    return !cpi_depot_has_stocked(depot) && cpi_depot_remnant_rounds(depot) == 0;
}

bool cpi_pool_await_collector(cpool_t *pool, uint32_t seen)
{
    const struct cpi_depot *depot = &pool->depot;
    uint32_t now = cpi_depot_collections(depot);
    unsigned times = 0;

    if (!cpi_depot_was_collected(depot, seen))
        return false;
    while (now % 2 != 0 && depot_is_empty(depot) && cpi_depot_collections(depot) == now)
        cpi_os_step_aside(times++);
    return true;
}

uint32_t cpi_pool_collections(const cpool_t *pool)
{
    return cpi_depot_collections(&pool->depot);
}

/* --- Growing --- */

static bool raise(cpool_t *pool, uint64_t bounds, uintptr_t more)
{
    if (!cpi_slab_set_bounds(&pool->slab, bounds, bounds + CPI_BOUNDS(more, 0)))
        return false;
    cpi_fetch_add(&pool->keeper.growths, 1u, relaxed); /* [count] */
    cpi_quiet_note(CPI_NOISE_GROWTH, 1);
    return true;
}

bool cpi_pool_grow_by_itself(cpool_t *pool)
{
    uint64_t bounds = cpi_slab_bounds(&pool->slab);
    uintptr_t capacity = CPI_BOUNDS_CAPACITY(bounds);
    uintptr_t more = capacity / 2;

    if (!pool->grows || capacity == pool->slab.most || CPI_BOUNDS_FRESH(bounds) < capacity)
        return false;
    if (more < pool->depot.limit)
        more = pool->depot.limit;
    if (more > CPI_GROWTH_MAX)
        more = CPI_GROWTH_MAX;
    if (more > pool->slab.most - capacity)
        more = pool->slab.most - capacity;
    /* If another thread was faster there is more now all the same. */
    raise(pool, bounds, more);
    return true;
}

size_t cpool_grow(cpool_t *pool, size_t n)
{
    uint64_t bounds;
    uintptr_t capacity;
    uintptr_t more;

    if (!cpi_pool_is_ours(pool, "cpool_grow"))
        return 0;
    do {
        bounds = cpi_slab_bounds(&pool->slab);
        capacity = CPI_BOUNDS_CAPACITY(bounds);
        more = pool->slab.most - capacity;
        if (more > n)
            more = n;
        if (more == 0 || !cpi_depot_provide(&pool->depot, capacity + more) ||
            !cpi_slab_provide(&pool->slab, capacity + more))
            return 0;
    } while (!raise(pool, bounds, more));
    cpi_pool_settle(pool);
    cpi_quiet_report("cpool_grow");
    return more;
}

/* --- Shrinking --- */

/* Lowers the capacity by up to n slots that were never handed out. */
static size_t drop_fresh(cpool_t *pool, size_t n)
{
    for (;;) {
        uint64_t bounds = cpi_slab_bounds(&pool->slab);
        uintptr_t capacity = CPI_BOUNDS_CAPACITY(bounds);
        uintptr_t fresh = CPI_BOUNDS_FRESH(bounds);
        uintptr_t keep = fresh > 0 ? fresh : 1;
        uintptr_t less = capacity > keep ? capacity - keep : 0;

        if (less > n)
            less = n;
        if (less == 0 ||
            cpi_slab_set_bounds(&pool->slab, bounds, CPI_BOUNDS(capacity - less, fresh)))
            return less;
    }
}

/* Slots in hand at the very top, no more than n, one at least staying. */
static uintptr_t top_run(const struct collection *collection, size_t n)
{
    uintptr_t run = 0;

    while (run < n && run + 1 < collection->slots &&
           is_marked(collection, collection->slots - 1 - run))
        run++;
    return run;
}

/*
 * Makes the topmost slots in hand fresh again, and lowers the capacity by what
 * lies within it.  Nothing, if new slots were claimed above them meanwhile.
 */
static size_t drop_top(struct collection *collection, size_t n)
{
    cpool_t *pool = collection->pool;
    uint64_t bounds = cpi_slab_bounds(&pool->slab);
    uintptr_t capacity = CPI_BOUNDS_CAPACITY(bounds);
    uintptr_t end = collection->slots;
    uintptr_t slack = end > capacity ? end - capacity : 0;
    uintptr_t run = top_run(collection, n + slack);
    uintptr_t left = end - run;

    /* With fresh slots left the topmost ones are not in hand. */
    if (run <= slack || end < capacity || CPI_BOUNDS_FRESH(bounds) != end)
        return 0;
    if (may_purge(pool))
        purge(pool, left, end);
    if (!cpi_slab_set_bounds(&pool->slab, bounds, CPI_BOUNDS(left, left)))
        return 0;
    while (collection->slots > left)
        unmark(collection, --collection->slots);
    return run - slack;
}

size_t cpool_shrink(cpool_t *pool, size_t n)
{
    struct collection collection;
    size_t removed;

    if (!cpi_pool_is_ours(pool, "cpool_shrink"))
        return 0;
    removed = drop_fresh(pool, n);
    if (removed < n) {
        struct cpi_cache *cache = cpi_registry_known_cache(&pool->roster);

        if (cache != NULL)
            cpi_recall_flush(cache);
        cpi_lock();
        if (collect(&collection, pool)) {
            removed += drop_top(&collection, n - removed);
            redistribute(&collection);
        }
        cpi_unlock();
    }
    cpi_pool_settle(pool);
    cpi_quiet_report("cpool_shrink");
    return removed;
}

/* --- Reserving --- */

/* Makes a slot's pages resident, changing nothing in it. */
static void touch(const cpool_t *pool, void *slot)
{
    volatile unsigned char *bytes = slot;
    size_t page = cpi_os_page_size();
    size_t i;

    for (i = 0; i < pool->slab.slot_size; i += page)
        bytes[i] = bytes[i];
    bytes[pool->slab.slot_size - 1] = bytes[pool->slab.slot_size - 1];
}

int cpool_reserve(cpool_t *pool, size_t n)
{
    size_t bytes;
    void **slots;
    size_t got;
    size_t i;

    if (!cpi_pool_is_ours(pool, "cpool_reserve"))
        return CPOOL_EPOOL;
    if (n == 0)
        return 0;
    if (n > pool->slab.slots || !cpi_multiply(n, sizeof *slots, &bytes))
        return CPOOL_EDRY;
    slots = cpi_os_map(bytes);
    if (slots == NULL)
        return CPOOL_ENOMEM;
    got = cpool_alloc_bulk(pool, slots, n);
    for (i = 0; i < got; i++)
        touch(pool, slots[i]);
    cpool_free_bulk(pool, slots, got);
    cpi_os_release(slots, bytes);
    return got == n ? 0 : CPOOL_EDRY;
}
