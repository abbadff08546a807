/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_bulk.c - operations on many slots: two that want all or none at the
 * same time, and a reset, which makes no more steps for many slots than for few.
 *
 * Includes steps.h.
 */
#include "steps.h"

#include <stdlib.h>

static const unsigned kinds[] = { 0, CPOOL_EXACT, CPOOL_CHECKED };

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/*
 * ---- All or none, twice --------------------------------------------------
 */

/* Each wants more than half. */
enum { CAPACITY = 40, WANTED = 30, ROUNDS = 4 };

struct taker {
    cpool_t *pool;
    void *slots[WANTED];
    int code;
};

static void take_all_or_none(void *argument)
{
    struct taker *taker = argument;

    taker->code = cpool_alloc_bulk_all(taker->pool, taker->slots, WANTED);
    REQUIRE(taker->code == 0 || taker->code == CPOOL_EDRY);
}

static void give_back(void *argument)
{
    struct taker *taker = argument;

    cpool_free_bulk(taker->pool, taker->slots, WANTED);
    cpool_flush(taker->pool);
}

/* Where the slots are at first: fresh, in the depot, or in the other one's cache. */
enum place { FRESH, IN_DEPOT, IN_CACHE, PLACES };

static void use_before(struct taker *taker, struct worker *worker, enum place place)
{
    if (place == FRESH)
        return;
    worker_do(worker, take_all_or_none, taker);
    if (place == IN_DEPOT)
        worker_do(worker, give_back, taker);
    else
        cpool_free_bulk(taker->pool, taker->slots, WANTED);
}

/* One stops at its nth step, and the other one does all of its own.  Returns false if
 * there is no such step. */
static bool take_both_at(unsigned flags, enum place place, struct worker **workers, size_t nth)
{
    struct taker takers[2];
    struct steps_stop stop;
    bool stopped;

    takers[0].pool = takers[1].pool = steps_pool(flags, CAPACITY, 0, ROUNDS);
    use_before(&takers[0], workers[1], place);
    stopped = steps_run(&stop, workers[0], NULL, nth, take_all_or_none, &takers[0]);
    worker_do(workers[1], take_all_or_none, &takers[1]);
    steps_go_on(&stop);
    /* Never both, and not neither, as the one that comes last finds the slots that the
     * other gave back. */
    REQUIRE((takers[0].code == 0) != (takers[1].code == 0));
    support_require_live(takers[0].pool, WANTED);
    for (int i = 0; i < 2; i++) {
        if (takers[i].code == 0)
            worker_do(workers[i], give_back, &takers[i]);
    }
    support_require_live(takers[0].pool, 0);
    support_require_obtainable(takers[0].pool, 0);
    support_destroy_empty(takers[0].pool);
    return stopped;
}

START_TEST(two_that_take_all_or_none_at_once_leave_one_with_all)
{
    struct worker *workers[2] = { worker_start(), worker_start() };
    size_t nth = 1;

    while (take_both_at(kinds[_i % KINDS], (enum place)(_i / KINDS), workers, nth))
        nth += SUPPORT_COUNT(1u, 7u);
    REQUIRE(nth > 10);
    worker_stop(workers[0]);
    worker_stop(workers[1]);
}
END_TEST

/*
 * ---- Reset ---------------------------------------------------------------
 */

struct effort {
    size_t steps;
    size_t magazines; /* in the depot */
};

/* Of a reset of a pool with all slots live, except some that were freed. */
static struct effort reset_of(unsigned flags, size_t capacity, size_t freed)
{
    cpool_t *pool = steps_pool(flags, capacity, 0, ROUNDS);
    void **slots = support_calloc(capacity, sizeof(*slots));
    struct effort effort;

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, capacity), capacity);
    cpool_free_bulk(pool, slots, freed);
    effort.magazines = support_stats(pool).in_depot / ROUNDS;
    effort.steps = steps_made();
    REQUIRE_EQUAL(cpool_reset(pool), capacity - freed);
    effort.steps = steps_made() - effort.steps;
    free(slots);
    support_destroy_empty(pool);
    return effort;
}

/* The kinds that do not verify each slot.  The magazines in the depot are counted. */
START_TEST(reset_makes_as_many_steps_for_many_slots_as_for_few)
{
    struct effort few = reset_of(kinds[_i], 100, 0);
    struct effort many = reset_of(kinds[_i], 20000, 0);
    struct effort freed = reset_of(kinds[_i], 20000, 10000);

    REQUIRE(few.steps > 0);
    REQUIRE_EQUAL(many.steps, few.steps);
    REQUIRE(freed.magazines > 2000);
    REQUIRE(freed.steps <= few.steps + freed.magazines + 10);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(two_that_take_all_or_none_at_once_leave_one_with_all, KINDS * PLACES),
        TIMES(reset_makes_as_many_steps_for_many_slots_as_for_few, KINDS - 1),
    };

    return SUPPORT_RUN("steps_bulk", tests);
}
