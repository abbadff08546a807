/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_active.c - what lies below a pool, without one: a cache's spares
 * (lib/cache/cache.h), the depot's bound, and extents.  Their promises hold when another
 * thread comes in between at any step.
 *
 * Includes steps.h.
 */
#include "steps.h"

#include <string.h>

#include "base/atomic.h"
#include "cache/cache.h"
#include "host/os.h"

enum { CAPACITY = 205, LIMIT = 8, PLACES = 8, PARTIES = 3, FOR_CACHES = PLACES + 2 };

static struct cpi_slab *slab;
static struct cpi_depot *depot;
static struct cpi_cache *cache;

/* The slots that this thread holds. */
static void *held[CAPACITY];
static size_t holds;

/* With magazines for so many that caches hold. */
static void make_depot(size_t for_caches)
{
    size_t stride = cpi_depot_stride(LIMIT);
    size_t for_slots = cpi_depot_magazines(CAPACITY, LIMIT, PARTIES);
    char *memory = support_lines((for_slots + for_caches) * stride);
    struct cpi_extent first, second;

    depot = support_lines(sizeof(*depot));
    cpi_extent_init_committed(&first, memory, for_slots * stride);
    cpi_extent_init_committed(&second, memory + for_slots * stride, for_caches * stride);
    cpi_depot_init(depot, &first, &second, LIMIT, PARTIES);
}

static void make_slab(void)
{
    const struct cpi_slab_shape shape = { 16, 16, CAPACITY, CAPACITY, CAPACITY };
    struct cpi_extent extent;

    slab = support_lines(sizeof(*slab));
    cpi_extent_init_committed(&extent, support_lines((size_t)CAPACITY * 16), (size_t)CAPACITY * 16);
    cpi_slab_init(slab, &extent, 0, &shape);
}

/* A new slab and depot, and a cache that may use `quota` spares. */
static void make_cache(uint32_t quota)
{
    make_depot(FOR_CACHES);
    make_slab();
    cache = support_lines(offsetof(struct cpi_cache, spare) + PLACES * sizeof(cache->spare[0]));
    cache->slab = slab;
    cache->depot = depot;
    cache->quota_max = PLACES;
    cpi_cache_open(cache, &cache->own, true, quota, NULL);
    holds = 0;
}

static void take(size_t n)
{
    for (; n > 0; n--) {
        void *slot = cpi_cache_alloc(cache);

        REQUIRE(cpi_slab_index(slab, slot) < CAPACITY);
        held[holds++] = slot;
    }
}

static void give(size_t n)
{
    for (; n > 0; n--)
        REQUIRE(cpi_cache_free(cache, held[--holds]));
}

static uint32_t spare(uint32_t i)
{
    return cpi_load(&cache->spare[i], relaxed);
}

/* The first invariant of cache.h. */
static void require_spares(void)
{
    uint32_t stocked = cpi_load(&cache->stocked, relaxed);

    REQUIRE(stocked <= cache->quota);
    for (uint32_t i = 0; i < PLACES; i++) {
        uint32_t node = spare(i);
        uint32_t rounds = i < stocked ? LIMIT : 0;

        if (node != 0)
            REQUIRE_EQUAL(cpi_magazine_count(cpi_depot_magazine(depot, node)), rounds);
        if (i >= cache->quota)
            REQUIRE_EQUAL(node, 0);
    }
}

/*
 * Every slot that is not held can be taken, and none twice.  Leaves all of them
 * held.
 */
static void require_all(void)
{
    bool seen[CAPACITY] = { false };

    take(CAPACITY - holds);
    REQUIRE(cpi_cache_alloc(cache) == NULL);
    for (size_t i = 0; i < CAPACITY; i++) {
        uintptr_t index = cpi_slab_index(slab, held[i]);

        REQUIRE(!seen[index]);
        seen[index] = true;
    }
}

/* All slots have been handed out, and all but those of the spares and the loaded
 * magazine come back.  Both are full then, and the depot has the rest. */
static void fill(void)
{
    take(CAPACITY);
    give(CAPACITY);
}

/*
 * ---- Thefts --------------------------------------------------------------
 */

/* A thread that comes in between. */
static struct worker *other;

/* Takes whatever lies in the places, full or empty, as stealing threads may: one that read
 * a full magazine's count may come back when it lies there empty. */
static void steal_all(void *argument)
{
    struct cpi_counters counters;

    memset(&counters, 0, sizeof(counters));
    for (uint32_t i = 0; i < PLACES; i++) {
        uint32_t node = cpi_load(&cache->spare[i], relaxed);

        if (node != 0 && cpi_cas_strong(&cache->spare[i], &node, 0, acquire, relaxed))
            cpi_depot_give(depot, &counters, node);
    }
    *(bool *)argument = true;
}

static void revoke(void *argument)
{
    worker_do(other, steal_all, argument);
}

/* The actions of an owner that is revoked: takes, gives, flushes. */
static void do_owners_work(int kind)
{
    switch (kind) {
    case 0: take(3 * LIMIT); break;
    case 1: give(3 * LIMIT); break;
    default: cpi_cache_flush(cache); break;
    }
}

/* Some spares are full and others empty. */
static void half_fill(void)
{
    make_cache(4);
    fill();
    take(3 * LIMIT + LIMIT / 2);
}

/* False if the work has fewer steps. */
static bool rob_at(int kind, size_t nth)
{
    bool robbed = false;

    half_fill();
    require_spares();
    steps_plan(NULL, nth, revoke, &robbed);
    do_owners_work(kind);
    (void)steps_drop();
    require_spares();
    give(holds);
    require_spares();
    require_all();
    return robbed;
}

TEST_TIMES(theft_at_every_step_loses_and_doubles_nothing, 3)
{
    size_t nth = 1;

    other = worker_start();
    while (rob_at(_i, nth))
        nth++;
    REQUIRE(nth > 20);
    worker_stop(other);
}

/*
 * ---- The depot -----------------------------------------------------------
 */

/* A magazine with one round. */
static void take_partial(struct cpi_counters *counters, void *slot)
{
    uint32_t node = cpi_depot_take_empty(depot, counters);
    struct cpi_magazine *magazine = cpi_depot_magazine(depot, node);

    REQUIRE(node != 0);
    magazine->rounds[0] = slot;
    cpi_magazine_set_count(magazine, 1);
}

/* All parties without a cache but one have been stopped while they merged two
 * magazines: the last one still finds as many as it needs, to the last slot. */
TEST(free_beside_parties_that_hold_two_magazines_succeeds)
{
    static char slots[CAPACITY];
    struct cpi_counters counters;
    size_t given = 0;

    make_depot(0);
    memset(&counters, 0, sizeof(counters));
    while (given < 2 * (PARTIES - 1))
        take_partial(&counters, &slots[given++]);
    while (given < CAPACITY)
        REQUIRE(cpi_depot_free_slot(depot, &counters, &slots[given++]));
    REQUIRE_EQUAL(cpi_depot_count_stocked(depot) * LIMIT + cpi_depot_partial_rounds(depot),
                  CAPACITY - 2 * (PARTIES - 1));
}

/*
 * ---- Extents -------------------------------------------------------------
 */

enum { PAGE = 4096, PAGES = 1024 };

static void reach_all(void *argument)
{
    REQUIRE(cpi_extent_reach(argument, (size_t)PAGES * PAGE));
}

static size_t committed(const struct cpi_extent *extent)
{
    return cpi_load(&extent->committed, relaxed);
}

/* Somebody else commits all while this thread commits a page. */
TEST(commit_at_every_step_of_another_is_kept)
{
    size_t nth = 1;
    bool met;

    do {
        struct cpi_extent extent;
        void *memory = cpi_os_reserve((size_t)PAGES * PAGE, PAGE);

        REQUIRE(memory != NULL);
        cpi_extent_init(&extent, memory, (size_t)PAGES * PAGE, PAGE);
        steps_plan(NULL, nth++, reach_all, &extent);
        REQUIRE(cpi_extent_reach(&extent, PAGE));
        met = steps_drop();
        if (met)
            REQUIRE_EQUAL(committed(&extent), PAGES * PAGE);
        cpi_os_release(memory, (size_t)PAGES * PAGE);
    } while (met);
    REQUIRE(nth > 2);
}
