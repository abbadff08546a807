/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_double.c - slots that are freed twice.  A pool that is not checked, into
 * which one slot is freed until there is no room: each further free is refused and
 * reported, after a bounded number of steps.
 */
#include "steps.h"

enum {
    CAPACITY = 1000,
    FREES = 100000, /* room for so many is nowhere */
    FURTHER = 100,
    STEPS = 5000, /* for one of them, as looking at all magazines takes fewer */
};

static void give(cpool_t *pool, void *slot, bool to_depot)
{
    if (to_depot)
        cpool_free_uncached(pool, slot);
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

TEST_TIMES(free_without_room_is_reported_soon, 2)
{
    cpool_t *pool = growth_pool(64, 0, CAPACITY, 0);
    bool to_depot = _i != 0;
    void *slot = cpool_alloc(pool);
    size_t in_depot;

    support_capture_reports();
    fill(pool, slot, to_depot);
    in_depot = support_stats(pool).in_depot;
    for (int i = 0; i < FURTHER; i++)
        require_refused(pool, slot, to_depot, to_depot ? "cpool_free_uncached" : "cpool_free");
    REQUIRE_EQUAL(support_stats(pool).in_depot, in_depot);
    /* There is room again for what has been taken out. */
    REQUIRE(cpool_alloc_uncached(pool) == slot);
    cpool_free_uncached(pool, slot);
    REQUIRE_NO_REPORT();
    REQUIRE_EQUAL(cpool_reset(pool), 0);
    REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    support_destroy_whole(pool);
    REQUIRE_NO_REPORT();
}
