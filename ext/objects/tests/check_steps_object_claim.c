/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_object_claim.c - two gets claim slots that were never used for one place, one at
 * each step of the other's claim, as threads do that share a place.
 *
 * Includes steps_objects.h.
 */
#include "steps_objects.h" /* first: it says which system interfaces are wanted */

enum { OBJECTS = 1024, STRETCH = 64 };

static void get(void *pool)
{
    REQUIRE(cpool_object_get(pool) != NULL);
}

/* All objects up to the end of the first stretch, and the one after it. */
static bool claim_beside_claim(size_t nth)
{
    cpool_objects_t *pool = steps_objects(OBJECTS);
    bool done;

    for (int i = 0; i < STRETCH; i++)
        get(pool);
    steps_plan("cpi_object_claim", nth, get, pool);
    get(pool);
    done = steps_drop();
    for (int i = STRETCH + 1; i < OBJECTS - (done ? 1 : 0); i++)
        get(pool);
    REQUIRE(cpool_object_get(pool) == NULL);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), OBJECTS);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    return done;
}

TEST(two_claims_for_one_place_lose_no_slot)
{
    size_t nth = 1;

    while (claim_beside_claim(nth))
        nth++;
    REQUIRE(nth > 2);
}
