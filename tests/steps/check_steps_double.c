/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_double.c - slots that are freed twice.  A pool that is not checked, into
 * which one slot is freed until there is no room: each further free is refused and
 * reported, after a bounded number of steps.  A tracked pool, of which two threads free
 * one slot at the same time: one of them is refused, at whatever step the other one is.
 *
 * Includes steps.h.
 */
#include "steps.h"

#include <string.h>

enum {
    CAPACITY = 1000,
    FREES = 100000, /* room for so many is nowhere */
    FURTHER = 100,
    STEPS = 5000, /* for one of them, as looking at all magazines takes fewer */
};

static const unsigned kinds[] = { 0, CPOOL_EXACT, CPOOL_WAITABLE };

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void give(cpool_t *pool, void *slot, bool to_depot)
{
    if (to_depot)
        cpool_depot_free(pool, slot);
    else
        cpool_free(pool, slot);
}

/* Until the first report. */
static void fill(cpool_t *pool, void *slot, bool to_depot)
{
    size_t frees = 0;

    while (support_take_reports(NULL) == 0) {
        REQUIRE(++frees < FREES);
        give(pool, slot, to_depot);
    }
}

static void require_refused(cpool_t *pool, void *slot, bool to_depot, const char *function)
{
    struct support_report report;

    steps_allow(STEPS);
    give(pool, slot, to_depot);
    steps_allow(0);
    report = REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    REQUIRE(report.address == slot && report.slot == slot);
    REQUIRE(strcmp(report.function, function) == 0);
}

TEST_TIMES(free_without_room_is_reported_soon, 2 * KINDS)
{
    cpool_t *pool = growth_pool(64, kinds[_i % KINDS], CAPACITY, 0);
    bool to_depot = _i / KINDS != 0;
    void *slot = cpool_alloc(pool);
    size_t in_depot;

    support_capture_reports();
    fill(pool, slot, to_depot);
    in_depot = support_stats(pool).in_depot;
    for (int i = 0; i < FURTHER; i++)
        require_refused(pool, slot, to_depot, to_depot ? "cpool_depot_free" : "cpool_free");
    REQUIRE_EQUAL(support_stats(pool).in_depot, in_depot);
    /* There is room again for what has been taken out. */
    REQUIRE(cpool_depot_alloc(pool) == slot);
    cpool_depot_free(pool, slot);
    REQUIRE_NO_REPORT();
    REQUIRE_EQUAL(cpool_reset(pool), 0);
    REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
    REQUIRE_NO_REPORT();
}

static const unsigned tracked[] = { CPOOL_TRACKED, CPOOL_TRACKED | CPOOL_EXACT,
                                    CPOOL_TRACKED | CPOOL_WAITABLE, CPOOL_CHECKED };

enum { TRACKED = sizeof(tracked) / sizeof(tracked[0]) };

struct freed {
    cpool_t *pool;
    void *slot;
};

static void free_it(void *argument)
{
    const struct freed *freed = argument;

    cpool_free(freed->pool, freed->slot);
}

/* Both threads have caches already.  Returns false if there is no such step. */
static bool free_twice_at(unsigned flags, struct worker *const *workers, size_t nth)
{
    struct freed freed;
    struct steps_stop stop;
    bool stopped;

    freed.pool = steps_pool(flags, 8, 0, 2);
    for (int i = 0; i < 2; i++) {
        freed.slot = cpool_alloc(freed.pool);
        worker_do(workers[i], free_it, &freed);
    }
    freed.slot = cpool_alloc(freed.pool);
    stopped = steps_run(&stop, workers[0], NULL, nth, free_it, &freed);
    worker_do(workers[1], free_it, &freed);
    steps_go_on(&stop);
    REQUIRE(REQUIRE_REPORT(CPOOL_EDOUBLEFREE).slot == freed.slot);
    support_require_obtainable(freed.pool, 0);
    support_destroy_empty(freed.pool);
    REQUIRE_NO_REPORT();
    return stopped;
}

TEST_TIMES(free_at_each_step_of_another_free_of_the_slot_is_refused_once, TRACKED)
{
    struct worker *workers[2];
    size_t nth = 1;

    support_capture_reports();
    for (int i = 0; i < 2; i++)
        workers[i] = worker_start();
    while (free_twice_at(tracked[_i], workers, nth))
        nth++;
    REQUIRE(nth > 2);
    for (int i = 0; i < 2; i++)
        worker_stop(workers[i]);
}
