/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_trim.c - what others do while a trim or shrink has the depot's slots
 * in its hands: frees find empty magazines, and allocs wait.
 *
 * Includes steps.h.
 */
#include "steps.h"

enum { CAPACITY = 100, ROUNDS = 8 };

static const unsigned kinds[] = { 0, CPOOL_EXACT };

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/*
 * ---- Frees meanwhile -----------------------------------------------------
 */

enum { MANY = 5000 };

/* Each time the collector is about to take the remnant, a free has left another
 * one there. */
static void free_meanwhile(void *argument)
{
    struct hold *hold = argument;
    void *slot = hold->slots[--hold->count];

    cpool_depot_free(hold->pool, slot);
    if (hold->count > 0)
        steps_plan("cpi_depot_take_remnant", 1, free_meanwhile, hold);
}

START_TEST(trim_leaves_empty_magazines_for_frees_meanwhile)
{
    cpool_t *pool = steps_pool(kinds[_i], 20 * MANY, 0, 0);
    struct hold hold;

    hold_init(&hold, pool);
    while (hold.count < MANY)
        hold_add(&hold, cpool_depot_alloc(pool));
    support_capture_reports();
    steps_plan("cpi_depot_take_remnant", 1, free_meanwhile, &hold);
    cpool_trim(pool);
    (void)steps_drop();
    REQUIRE_NO_REPORT();
    REQUIRE(hold.count < MANY / 2); /* it was more than a few frees */
    support_require_live(pool, hold.count);
    hold_free_all(&hold);
    support_require_live(pool, 0);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- Allocs meanwhile ----------------------------------------------------
 */

/* A thread that allocates, and this one, which collects. */
struct encounter {
    cpool_t *pool;
    struct hold here;
    struct hold there;
    struct worker *worker;
    struct steps_stop stop;
};

static void take_one(void *argument)
{
    REQUIRE_EQUAL(hold_take(argument, 1), 1);
}

static void take_and_return(void *argument)
{
    struct hold *hold = argument;

    take_one(hold);
    hold_free_all(hold);
    cpool_flush(hold->pool);
}

static void go_on_to_lock(void *argument)
{
    struct encounter *encounter = argument;

    (void)steps_go_on_to(&encounter->stop, STEPS_LOCK, 1);
}

/* A pool that may grow, all slots in the depot, and a cache for either thread. */
static void collect_init(struct encounter *encounter, unsigned flags)
{
    encounter->pool = steps_pool(flags, CAPACITY, 100 * CAPACITY, ROUNDS);
    hold_init(&encounter->here, encounter->pool);
    hold_init(&encounter->there, encounter->pool);
    hold_take(&encounter->here, CAPACITY);
    hold_free_all(&encounter->here);
    cpool_flush(encounter->pool);
    worker_do(encounter->worker, take_and_return, &encounter->there);
}

/* Collects; at the nth step an alloc that had been stopped goes on, up to where it
 * has to wait.  False if there were fewer steps. */
static bool collect(struct encounter *encounter, bool shrinks, size_t nth)
{
    bool met;

    steps_plan(NULL, nth, go_on_to_lock, encounter);
    if (shrinks)
        (void)cpool_shrink(encounter->pool, 1);
    else
        cpool_trim(encounter->pool);
    met = steps_drop();
    steps_go_on(&encounter->stop);
    return met;
}

static void collect_fini(struct encounter *encounter)
{
    REQUIRE_EQUAL(support_stats(encounter->pool).growths, 0);
    hold_free_all(&encounter->there);
    hold_fini(&encounter->here);
    hold_fini(&encounter->there);
    support_destroy_empty(encounter->pool);
}

/* An alloc begins, stops at its first step, and finds the depot empty because of
 * the collector: it waits, and does not let the pool grow. */
START_TEST(alloc_while_slots_are_collected_does_not_grow_the_pool)
{
    struct encounter encounter;
    size_t stride = SUPPORT_COUNT(1u, 7u);
    size_t nth = 0;
    bool met;

    encounter.worker = worker_start();
    do {
        nth += stride;
        collect_init(&encounter, kinds[_i % KINDS]);
        REQUIRE(steps_run(&encounter.stop, encounter.worker, NULL, 1, take_one,
                          &encounter.there));
        met = collect(&encounter, _i >= KINDS, nth);
        collect_fini(&encounter);
    } while (met);
    REQUIRE(nth > 10);
    worker_stop(encounter.worker);
}
END_TEST

/* An alloc has found nothing, because all were live, and has begun to look
 * everywhere; now all are free, but in the hands of a collector that came later. */
START_TEST(alloc_before_slots_are_collected_does_not_grow_the_pool)
{
    struct encounter encounter;
    size_t stride = SUPPORT_COUNT(1u, 7u);
    size_t nth = 0;
    bool met;

    encounter.worker = worker_start();
    do {
        nth += stride;
        collect_init(&encounter, kinds[_i % KINDS]);
        REQUIRE_EQUAL(hold_take(&encounter.here, CAPACITY), CAPACITY);
        REQUIRE(steps_run(&encounter.stop, encounter.worker, "cpi_pool_collections", 1, take_one,
                          &encounter.there));
        REQUIRE(steps_go_on_to(&encounter.stop, NULL, 1)); /* it has read the number */
        hold_free_all(&encounter.here);
        cpool_flush(encounter.pool);
        met = collect(&encounter, _i >= KINDS, nth);
        collect_fini(&encounter);
    } while (met);
    REQUIRE(nth > 10);
    worker_stop(encounter.worker);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(trim_leaves_empty_magazines_for_frees_meanwhile, KINDS),
        TIMES(alloc_while_slots_are_collected_does_not_grow_the_pool, 2 * KINDS),
        TIMES(alloc_before_slots_are_collected_does_not_grow_the_pool, 2 * KINDS),
    };

    return SUPPORT_RUN("steps_trim", tests);
}
