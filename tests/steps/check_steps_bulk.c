/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_bulk.c - a reset makes no more steps for many slots than for few.
 */
#include "steps.h"

static const unsigned kinds[] = { 0, CPOOL_CHECKED };

enum { ROUNDS = 4 };

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

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, capacity, 0), capacity);
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
TEST_TIMES(reset_makes_as_many_steps_for_many_slots_as_for_few, SUPPORT_LENGTH(kinds) - 1)
{
    struct effort few = reset_of(kinds[_i], 100, 0);
    struct effort many = reset_of(kinds[_i], 20000, 0);
    struct effort freed = reset_of(kinds[_i], 20000, 10000);

    REQUIRE(few.steps > 0);
    REQUIRE_EQUAL(many.steps, few.steps);
    REQUIRE(freed.magazines > 2000);
    REQUIRE(freed.steps <= few.steps + freed.magazines + 10);
}
