/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_place.c - places of operations without a cache (lib/cache/place.h), in an array of
 * their own.
 */
#include "support.h"

#include "base/atomic.h"
#include "cache/place.h"

enum { COUNT = 4 };

static struct cpi_uncached uncached[COUNT];
static struct cpi_places places = { .at = uncached, .count = COUNT };

/* As if another thread held it. */
static void lend(struct cpi_uncached *place)
{
    cpi_store(&place->holder, cpi_thread_token() + 1, relaxed);
}

START_TEST(leave_counts_a_turn_and_frees_the_place)
{
    struct cpi_uncached *place = cpi_place_enter(&places);
    uint32_t turns = cpi_place_turns(place);

    REQUIRE(place == &uncached[0]);
    REQUIRE(!cpi_place_is_held(place)); /* by another thread */
    lend(place);
    REQUIRE(cpi_place_is_held(place));
    cpi_place_leave(&places, place);
    REQUIRE(!cpi_place_is_held(place));
    REQUIRE_EQUAL(cpi_place_turns(place), turns + 1);
    REQUIRE(cpi_place_enter(&places) == place);
    cpi_place_leave(&places, place);
}
END_TEST

START_TEST(try_enter_in_vain_returns_NULL)
{
    for (int i = 0; i < COUNT; i++)
        REQUIRE(cpi_place_try_enter(&places) == &uncached[i]);
    REQUIRE_EQUAL(cpi_place_used(&places), COUNT);
    REQUIRE(cpi_place_try_enter(&places) == NULL);
    for (int i = 0; i < COUNT; i++)
        cpi_place_leave(&places, &uncached[i]);
}
END_TEST

START_TEST(forked_frees_what_others_held)
{
    struct cpi_uncached *ours = cpi_place_enter(&places);
    struct cpi_uncached *theirs = cpi_place_enter(&places);

    REQUIRE(!cpi_place_forked(&places));
    lend(theirs);
    REQUIRE(cpi_place_forked(&places));
    REQUIRE(cpi_place_try_enter(&places) == theirs);
    cpi_place_leave(&places, theirs);
    cpi_place_leave(&places, ours);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        ONCE(leave_counts_a_turn_and_frees_the_place),
        ONCE(try_enter_in_vain_returns_NULL),
        ONCE(forked_frees_what_others_held),
    };

    return SUPPORT_RUN("place", tests);
}
