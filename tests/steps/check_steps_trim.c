/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_trim.c - what others do while a trim or shrink has the depot's slots
 * in its hands: frees find empty magazines, and allocs wait.
 */
#include "steps.h"

#include <cpool/client.h>

enum { CAPACITY = 32, ROUNDS = 4 };

enum { MANY = 5000 };

/* Each time the draining thread is about to take the partial magazine, a free has left another
 * one there. */
static void free_meanwhile(void *argument)
{
    struct hold *hold = argument;
    void *slot = hold->slots[--hold->count];

    cpool_free_uncached(hold->pool, slot);
    if (hold->count > 0)
        steps_plan("cpi_depot_take_partial", 1, free_meanwhile, hold);
}

TEST(trim_leaves_empty_magazines_for_frees_meanwhile)
{
    cpool_t *pool = steps_pool(0, 20 * MANY, 0, 0);
    struct hold hold = hold_of(pool);

    while (hold.count < MANY)
        hold_add(&hold, cpool_alloc_uncached(pool));
    support_capture_reports();
    steps_plan("cpi_depot_take_partial", 1, free_meanwhile, &hold);
    cpool_trim(pool);
    (void)steps_drop();
    REQUIRE_NO_REPORT();
    REQUIRE(hold.count < MANY / 2); /* it was more than a few frees */
    support_require_live(pool, hold.count);
    hold_free_all(&hold);
    support_require_live(pool, 0);
    hold_end(&hold);
}

/* A thread that allocates, and this one, which collects. */
struct encounter {
    cpool_t *pool;
    struct hold here;
    struct hold there;
    struct worker *worker;
    struct steps_stop stop;
};

static void take_cached(void *argument)
{
    REQUIRE_EQUAL(hold_take(argument, 1), 1);
}

static void take_uncached(void *argument)
{
    struct hold *hold = argument;
    void *slot = cpool_alloc_uncached(hold->pool);

    REQUIRE(slot != NULL);
    hold_add(hold, slot);
}

static void take_in_bulk(void *argument)
{
    struct hold *hold = argument;
    void *slots[2];

    REQUIRE_EQUAL(cpool_alloc_bulk(hold->pool, slots, 2, 0), 2);
    hold_add(hold, slots[0]);
    hold_add(hold, slots[1]);
}

static void (*const takes[])(void *argument) = { take_cached, take_uncached, take_in_bulk };

/* The slots that could be had instead of the drained ones: fresh slots, growth, nothing. */
static const struct room {
    size_t used; /* slots in circulation */
    size_t max_capacity;
} rooms[] = { { CAPACITY / 2, 0 }, { CAPACITY, 100 * CAPACITY }, { CAPACITY, 0 } };

enum {
    TAKES = sizeof(takes) / sizeof(takes[0]),
    ROOMS = sizeof(rooms) / sizeof(rooms[0]),
    VARIANTS = TAKES * ROOMS
};

struct variant {
    void (*take)(void *argument);
    const struct room *room;
    enum { TRIMS, SHRINKS, COLLECTORS } drainer;
};

static struct variant variant_of(int number)
{
    struct variant variant;

    variant.take = takes[number % TAKES];
    variant.room = &rooms[number / TAKES % ROOMS];
    variant.drainer = (unsigned)number / VARIANTS;
    return variant;
}

static void take_and_return(void *argument)
{
    struct hold *hold = argument;

    take_cached(hold);
    hold_free_all(hold);
    cpool_flush(hold->pool);
}

static void go_on_to_lock(void *argument)
{
    struct encounter *encounter = argument;

    (void)steps_go_on_to(&encounter->stop, STEPS_LOCK, 1);
}

/* A pool with all slots in circulation in the depot, and a cache for either thread. */
static void collect_init(struct encounter *encounter, const struct variant *variant)
{
    const struct room *room = variant->room;

    encounter->pool = steps_pool(0, CAPACITY, room->max_capacity, ROUNDS);
    encounter->here = hold_of(encounter->pool);
    encounter->there = hold_of(encounter->pool);
    while (encounter->here.count < room->used)
        take_uncached(&encounter->here);
    hold_free_all(&encounter->here);
    cpool_flush(encounter->pool);
    worker_do(encounter->worker, take_and_return, &encounter->there);
    REQUIRE_EQUAL(support_stats(encounter->pool).circulating, room->used);
}

/* Drains.  At the nth step an alloc that had been stopped goes on, up to the point
 * where it has to wait.  False if there were fewer steps. */
static bool collect(struct encounter *encounter, const struct variant *variant, size_t nth)
{
    bool met;

    steps_plan(NULL, nth, go_on_to_lock, encounter);
    if (variant->drainer == SHRINKS)
        (void)cpool_shrink(encounter->pool, CAPACITY - variant->room->used + 1);
    else
        cpool_trim(encounter->pool);
    met = steps_drop();
    steps_go_on(&encounter->stop);
    return met;
}

/* The pool is no larger than it was. */
static void collect_fini(struct encounter *encounter, const struct variant *variant)
{
    REQUIRE_EQUAL(support_stats(encounter->pool).growths, 0);
    REQUIRE(support_stats(encounter->pool).circulating <= variant->room->used);
    hold_free_all(&encounter->there);
    hold_fini(&encounter->here);
    hold_fini(&encounter->there);
    support_destroy_empty(encounter->pool);
}

/* An alloc begins, stops at its first step, and finds the depot empty because of
 * the draining thread: it waits for the slots that are there. */
TEST_TIMES(alloc_while_slots_are_collected_waits_for_them, COLLECTORS * VARIANTS)
{
    struct variant variant = variant_of(_i);
    struct encounter encounter;
    size_t stride = SUPPORT_COUNT(1u, 7u);
    size_t nth = 0;
    bool met;

    encounter.worker = worker_start();
    do {
        nth += stride;
        collect_init(&encounter, &variant);
        REQUIRE(steps_run(&encounter.stop, encounter.worker, NULL, 1, variant.take,
                          &encounter.there));
        met = collect(&encounter, &variant, nth);
        collect_fini(&encounter, &variant);
    } while (met);
    REQUIRE(nth > 3);
    worker_stop(encounter.worker);
}

/* An alloc is about to find nothing, because all were live.  Now all are free, but in
 * the hands of a draining thread that came later. */
TEST_TIMES(alloc_before_slots_are_collected_waits_for_them, COLLECTORS * VARIANTS)
{
    struct variant variant = variant_of(_i);
    struct encounter encounter;
    size_t stride = SUPPORT_COUNT(1u, 7u);
    size_t nth = 0;
    bool met;

    encounter.worker = worker_start();
    do {
        nth += stride;
        collect_init(&encounter, &variant);
        REQUIRE_EQUAL(hold_take(&encounter.here, variant.room->used), variant.room->used);
        REQUIRE(steps_run(&encounter.stop, encounter.worker, "cpi_depot_drains", 1,
                          variant.take, &encounter.there));
        REQUIRE(steps_go_on_to(&encounter.stop, NULL, 1)); /* it has read the number */
        hold_free_all(&encounter.here);
        cpool_flush(encounter.pool);
        met = collect(&encounter, &variant, nth);
        collect_fini(&encounter, &variant);
    } while (met);
    REQUIRE(nth > 3);
    worker_stop(encounter.worker);
}

enum { BIG = 512, BIG_ROUNDS = 64 };

static void grow_meanwhile(void *argument)
{
    REQUIRE_EQUAL(cpool_grow(((struct hold *)argument)->pool, 1), 1);
}

/* A client takes a slot above all others, whose number is no fresh one's afterwards. */
static void take_above(void *argument)
{
    struct hold *hold = argument;

    hold_add(hold, cpool_client_take(hold->pool, CPOOL_CLIENT_FRESH, NULL));
}

/* Free slots keep their bytes, but for those that are removed. */
static bool shrink_beside_at(void (*meanwhile)(void *hold), size_t nth)
{
    cpool_t *pool = steps_pool(0, BIG, 2 * BIG, BIG_ROUNDS);
    struct hold hold = hold_of(pool);
    size_t removed;
    bool met;

    REQUIRE_EQUAL(hold_take(&hold, BIG), BIG);
    hold_free_all(&hold);
    cpool_flush(pool);
    steps_plan(NULL, nth, meanwhile, &hold);
    removed = cpool_shrink(pool, BIG / 2);
    met = steps_drop();
    for (size_t i = 0; hold.count == 0 && i < BIG - removed; i++)
        REQUIRE(((uint64_t *)cpool_at(pool, i))[1] == hold.stamp);
    if (hold.count == 0) {
        growth_require_capacity(pool, BIG - removed + (met ? 1 : 0));
        support_require_live(pool, 0);
    }
    (void)hold_take(&hold, SIZE_MAX);
    for (size_t i = 1; i < hold.count; i++)
        REQUIRE(hold.slots[i] != hold.slots[0]);
    hold_end(&hold);
    return met;
}

TEST_TIMES(shrink_that_removes_nothing_leaves_the_bytes_of_slots, 2)
{
    size_t nth = 1;

    while (shrink_beside_at(_i == 0 ? grow_meanwhile : take_above, nth))
        nth++;
    REQUIRE(nth > 10);
}

static void grow_all(void *pool)
{
    REQUIRE(cpool_grow(pool, CAPACITY) > 0);
}

TEST(reserve_uses_the_room_that_another_thread_made)
{
    bool met = true;

    for (size_t nth = 1; met; nth++) {
        cpool_t *pool = steps_pool(0, CAPACITY, 2 * CAPACITY, ROUNDS);

        steps_plan(NULL, nth, grow_all, pool);
        REQUIRE_EQUAL(cpool_reserve(pool, CAPACITY + 1), 0);
        met = steps_drop();
        support_destroy_empty(pool);
    }
}
