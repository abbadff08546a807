/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_empty.c - what an alloc that finds nothing concludes from what it
 * has seen, while others take and free at just the steps at which it looks.
 */
#include "steps.h"

#include "inside.h"
#include "depot/depot.h"

/* The allocs of another thread that grows the pool twice.  It stands still when it has raised the
 * capacity, when it has taken what that gave, and when it has raised it once more.  Each part of
 * it happens so many of the alloc's looks at the bounds after the one before.  There are no caches,
 * because an alloc that has closed an entry looks again. */
enum { GROWING_SLOTS = 3, GROWING_PARTS = 3 };

struct growing {
    cpool_t *pool;
    struct worker *worker;
    struct steps_stop stop;
    size_t looks[GROWING_PARTS];
    size_t part;
    void *slots[GROWING_SLOTS];
};

static void alloc_and_grow(void *argument)
{
    struct growing *growing = argument;

    for (int i = 0; i < GROWING_SLOTS; i++)
        growing->slots[i] = cpool_alloc_uncached(growing->pool);
}

static void grow_by_parts(void *argument)
{
    static const char *const ends[] = { "cpi_pool_raise", "cpi_slab_set_bounds", "cpi_pool_raise" };
    struct growing *growing = argument;
    const char *end = ends[growing->part];
    bool more = growing->part++ == 0
                    ? steps_run(&growing->stop, growing->worker, end, 1, alloc_and_grow, growing)
                    : steps_go_on_to(&growing->stop, end, 1);

    if (more && growing->part < GROWING_PARTS)
        steps_plan("cpi_slab_bounds", growing->looks[growing->part], grow_by_parts, growing);
}

/* Where it grows the pool itself there is room, where it looks the room is used up, and where it
 * concludes there is room again: there was no moment without a slot to be had. */
static bool grow_beside_alloc(struct worker *worker, size_t first, size_t second, size_t third)
{
    struct growing growing = { .pool = steps_pool(0, 2, 16, 2),
                               .worker = worker,
                               .looks = { first, second, third } };
    void *slots[3];

    for (int i = 0; i < 2; i++)
        slots[i] = cpool_alloc_uncached(growing.pool);
    steps_plan("cpi_slab_bounds", first, grow_by_parts, &growing);
    slots[2] = cpool_alloc_uncached(growing.pool);
    steps_drop();
    if (growing.part > 0)
        steps_go_on(&growing.stop);
    else
        worker_do(worker, alloc_and_grow, &growing);
    REQUIRE(slots[2] != NULL);
    for (int i = 0; i < GROWING_SLOTS; i++) {
        REQUIRE(growing.slots[i] != NULL);
        cpool_free_uncached(growing.pool, growing.slots[i]);
    }
    for (int i = 0; i < 3; i++)
        cpool_free_uncached(growing.pool, slots[i]);
    support_destroy_empty(growing.pool);
    return growing.part > 0;
}

TEST(alloc_beside_one_that_grows_the_pool_finds_a_slot)
{
    struct worker *worker = worker_start();
    size_t first = 0;
    bool met = true;

    while (met) {
        first++;
        for (size_t second = 1; second < 6; second++)
            for (size_t third = 1; third < 6; third++)
                met = grow_beside_alloc(worker, first, second, third);
    }
    REQUIRE(first > 3);
    worker_stop(worker);
}

enum { LONE_ROUNDS = 2, LONE_MAGAZINES = 3 };

/* All magazines of a depot, and the counters of another party. */
struct lone {
    struct cpi_depot *depot;
    struct cpi_counters counters;
};

/* Makes all magazines, and gives one of them. */
static void make_all(void *argument)
{
    struct lone *lone = argument;
    uint32_t node = 0;

    for (int i = 0; i < LONE_MAGAZINES; i++)
        REQUIRE((node = cpi_depot_take_empty(lone->depot, &lone->counters)) != 0);
    cpi_depot_give(lone->depot, &lone->counters, node);
}

/* The thread finds the stack empty.  Then another makes all that are left, so this one can
 * make none, but may not conclude that there is none. */
TEST(empty_magazine_that_comes_between_two_looks_is_found)
{
    size_t size = LONE_MAGAZINES * cpi_depot_stride(LONE_ROUNDS);
    struct cpi_counters mine;
    struct lone lone;

    memset(&mine, 0, sizeof(mine));
    memset(&lone.counters, 0, sizeof(lone.counters));
    lone.depot = support_lines(sizeof(*lone.depot));
    cpi_extent_init(&lone.depot->for_slots, support_lines(size), size, 1, size);
    cpi_depot_init(lone.depot, LONE_ROUNDS, 1);
    steps_plan("make_magazine", 1, make_all, &lone);
    REQUIRE(cpi_depot_take_empty(lone.depot, &mine) != 0);
    REQUIRE(steps_drop());
    REQUIRE_EQUAL(cpi_depot_made(lone.depot), LONE_MAGAZINES);
    REQUIRE_EQUAL(cpi_load(&mine.others, relaxed), 1);
}

struct own {
    cpool_cache_t *cache;
    void *slot;
};

static void take_last(void *argument)
{
    struct own *own = argument;

    own->slot = cpool_cache_alloc(own->cache);
}

/* The cache has a round until its entry is closed. */
TEST(empty_magazine_that_is_taken_back_counts_for_nothing)
{
    cpool_t *pool = steps_pool(0, 1, 0, 1);
    struct own own;

    REQUIRE_EQUAL(cpool_cache_create(&own.cache, pool), 0);
    cpool_cache_free(own.cache, cpool_cache_alloc(own.cache));
    steps_plan("close_entry", 1, take_last, &own);
    REQUIRE(cpool_alloc(pool) == NULL);
    REQUIRE(steps_drop());
    REQUIRE(own.slot != NULL);
    REQUIRE_EQUAL(support_stats(pool).reclaims, 0);
    REQUIRE_EQUAL(support_stats(pool).stalls, 0);
    cpool_cache_free(own.cache, own.slot);
    support_destroy_empty(pool);
}

static void leave_and_enter(void *argument)
{
    struct cpi_cache *cache = argument;

    cpi_cache_leave(cache, cpi_cache_active(cache));
    (void)cpi_cache_enter(cache, cpi_cache_active(cache));
    steps_plan("await_owner", 3, leave_and_enter, cache); /* after a look at the other cache */
}

/* The owner is inside whenever the alloc looks, but in another operation. */
TEST(alloc_awaits_the_operation_that_it_saw_and_not_the_next_one)
{
    cpool_t *pool = steps_pool(0, 1, 0, 1);
    void *slot = cpool_alloc(pool);
    struct cpi_cache *cache;
    cpool_cache_t *handle;

    REQUIRE_EQUAL(cpool_cache_create(&handle, pool), 0);
    cache = handle->home;
    cpi_cache_flush(cache); /* what it has loaded would be waited for, too */
    (void)cpi_cache_enter(cache, cpi_cache_active(cache));
    leave_and_enter(cache);
    REQUIRE(cpool_alloc(pool) == NULL);
    steps_drop();
    REQUIRE_EQUAL(support_stats(pool).stalls, 0);
    cpi_cache_leave(cache, cpi_cache_active(cache));
    cpool_cache_destroy(handle);
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}

enum { LOOKS = 4096 };

/* Operations without a cache, of which one is in flight at any moment: each begins before the
 * one before it has left, whenever an alloc looks for those that are. */
struct relay {
    struct cpi_depot *depot;
    struct cpi_uncached uncached[2];
    size_t left;
};

static void pass_on(void *argument)
{
    struct relay *relay = argument;

    cpi_depot_enter(relay->depot, &relay->uncached[(relay->left - 1) % 2]);
    cpi_depot_leave(relay->depot, &relay->uncached[relay->left-- % 2]);
    REQUIRE(relay->left > 0); /* the alloc does not come to an end */
    steps_plan("cpi_depot_have_left", 1, pass_on, relay);
}

TEST(alloc_beside_operations_without_a_cache_soon_finds_the_pool_empty)
{
    cpool_t *pool = steps_pool(0, 1, 0, 1);
    struct relay relay = { .depot = &inside(pool)->depot, .left = LOOKS };
    void *slot = cpool_alloc(pool);

    cpi_depot_enter(relay.depot, &relay.uncached[relay.left % 2]);
    steps_plan("cpi_depot_have_left", 1, pass_on, &relay);
    REQUIRE(cpool_alloc(pool) == NULL);
    steps_drop();
    REQUIRE(relay.left < LOOKS);
    REQUIRE_EQUAL(support_stats(pool).stalls, 0);
    cpi_depot_leave(relay.depot, &relay.uncached[relay.left % 2]);
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}
