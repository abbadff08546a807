/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_priority.c - a dry priority pool takes the least important object back, in each
 * order, and refuses claims of uses that have ended.
 *
 * Includes object.h.
 */
#include "object.h"

#include <errno.h>
#include <string.h>

#include <cpool/object.h>
#include <cpool/priority.h>

enum { MOST = 8 };

/* Every way in which a pool keeps its objects. */
static const unsigned kinds[] = { 0, CPOOL_OBJECT_EAGER | CPOOL_OBJECT_COUNTED,
                                  CPOOL_OBJECT_FAKE };

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static struct account account;
static cpool_object_type_t type;
static cpool_objects_t *pool;

static void make_of(unsigned flags, size_t capacity)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;

    memset(&account, 0, sizeof account);
    type = thing_type(&account);
    config.name = "things";
    config.reset = thing_pool_reset;
    config.capacity = capacity;
    config.flags = flags | CPOOL_OBJECT_PRIORITY;
    pool = thing_pool(&config, &type);
}

static void make(size_t capacity)
{
    make_of(kinds[0], capacity);
}

static struct granted obtain(int64_t priority)
{
    struct granted grant = {0};

    REQUIRE_EQUAL(object_granted(pool, priority, &grant), 0);
    REQUIRE(grant.object != NULL && grant.claim != 0);
    REQUIRE(((struct thing *)grant.object)->state == THING_ACTIVE);
    REQUIRE_EQUAL(grant.uses, ((struct thing *)grant.object)->uses);
    return grant;
}

/* The claim that a get ends, or 0. */
static cpool_claim_t ended_by(int64_t priority)
{
    return obtain(priority).ended;
}

/* Ends the test's pool, with so many objects active. */
static void end(size_t active)
{
    thing_require(pool, &account, active);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), active);
    thing_end(pool, &account);
    REQUIRE(account.activated == account.deactivated);
}

/*
 * ---- The order -----------------------------------------------------------
 */

TEST_TIMES(get_from_dry_pool_takes_the_lowest_number, KINDS)
{
    static const int64_t numbers[] = { 5, -3, INT64_MAX, 0 };
    struct granted grants[4];

    make_of(kinds[_i], 4);
    for (size_t i = 0; i < 4; i++) {
        grants[i] = obtain(numbers[i]);
        REQUIRE_EQUAL(grants[i].ended, 0);
        REQUIRE_EQUAL(grants[i].uses, 1);
    }
    REQUIRE(ended_by(7) == grants[1].claim);
    REQUIRE(ended_by(INT64_MIN) == grants[3].claim);
    REQUIRE(ended_by(8) != grants[0].claim); /* the one of INT64_MIN */
    REQUIRE(ended_by(9) == grants[0].claim);
    end(4);
}

TEST_TIMES(object_reclaimed_goes_through_its_hooks, KINDS)
{
    struct granted first, second;
    struct thing *thing;

    make_of(kinds[_i], 1);
    first = obtain(0);
    second = obtain(0);
    thing = second.object;
    REQUIRE(second.ended == first.claim && second.claim != first.claim);
    REQUIRE(account.activated == 2 && account.deactivated == 1);
    if ((kinds[_i] & CPOOL_OBJECT_FAKE) != 0) {
        REQUIRE(account.created == 2 && account.destroyed == 1 && second.uses == 1);
    } else {
        REQUIRE(first.object == second.object && account.created == 1 && second.uses == 2);
        REQUIRE(thing->resets == 1 && thing->pool_resets == 1);
    }
    end(1);
}

/* The claim of the get before would end that object's use. */
TEST(get_without_an_object_leaves_no_claim)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    void *object;

    make(2);
    REQUIRE(cpool_object_get_with(pool, &object, &grant) == 0 && grant.claim != 0);
    grant.wait_ns = 1;
    support_capture_reports();
    REQUIRE_EQUAL(cpool_object_get_with(pool, &object, &grant), CPOOL_EKIND);
    support_release_reports();
    REQUIRE(grant.claim == 0 && grant.uses == 0 && grant.wait_ns == 1);
    end(1);
}

TEST(equal_numbers_go_in_the_order_of_their_gets)
{
    cpool_claim_t claims[MOST];

    make(MOST);
    for (size_t i = 0; i < MOST; i++)
        claims[i] = obtain(3).claim;
    for (size_t i = 0; i < MOST; i++)
        REQUIRE(ended_by(3) == claims[i]);
    end(MOST);
}

/* Each use gives the object the next number. */
TEST(least_recently_used_goes_first_by_a_counter)
{
    int64_t counter = 0;
    cpool_claim_t a, b, c;

    make(3);
    a = obtain(++counter).claim;
    b = obtain(++counter).claim;
    c = obtain(++counter).claim;
    REQUIRE_EQUAL(cpool_priority_set(pool, a, ++counter), 0);
    REQUIRE(ended_by(++counter) == b);
    REQUIRE_EQUAL(cpool_priority_set(pool, c, ++counter), 0);
    REQUIRE(ended_by(++counter) == a);
    REQUIRE(ended_by(++counter) != c); /* the first of these three gets */
    end(3);
}

TEST(priority_set_anew_counts)
{
    cpool_claim_t a, b, c;

    make(3);
    a = obtain(1).claim;
    b = obtain(2).claim;
    c = obtain(3).claim;
    REQUIRE_EQUAL(cpool_priority_set(pool, a, 10), 0);
    REQUIRE_EQUAL(cpool_priority_set(pool, c, -10), 0);
    REQUIRE(ended_by(20) == c);
    REQUIRE(ended_by(20) == b);
    REQUIRE(ended_by(20) == a);
    end(3);
}

TEST(object_with_a_larger_number_is_kept_where_asked)
{
    struct granted grant = {0};
    cpool_claim_t low;

    make_of(CPOOL_OBJECT_KEEP_LARGER, 2);
    low = obtain(5).claim;
    obtain(8);
    REQUIRE_EQUAL(object_granted(pool, 4, &grant), CPOOL_EDRY);
    REQUIRE(grant.object == NULL && grant.claim == 0 && grant.ended == 0);
    REQUIRE(ended_by(5) == low);
    REQUIRE_EQUAL(cpool_objects_reset(pool, 1), 1); /* which keeps none */
    end(1);
}

/*
 * ---- Claims --------------------------------------------------------------
 */

static void require_ended(cpool_claim_t claim)
{
    REQUIRE_EQUAL(cpool_priority_put(pool, claim), CPOOL_EINACTIVE);
    REQUIRE_EQUAL(cpool_priority_set(pool, claim, 1), CPOOL_EINACTIVE);
}

TEST_TIMES(claim_of_a_use_that_ended_refused, KINDS)
{
    struct granted first, second, third;

    make_of(kinds[_i], 1);
    first = obtain(0);
    second = obtain(0);
    require_ended(first.claim);
    REQUIRE_EQUAL(cpool_priority_put(pool, second.claim), 0);
    require_ended(second.claim);
    third = obtain(0);
    REQUIRE(third.ended == 0 && third.claim != second.claim && third.claim != first.claim);
    require_ended(first.claim);
    require_ended(second.claim);
    cpool_object_put(pool, third.object);
    require_ended(third.claim);
    require_ended(0);
    require_ended(UINT64_MAX);
    require_ended((cpool_claim_t)3 << 32);
    end(0);
}

TEST(claims_outlive_the_objects_memory)
{
    cpool_claim_t old;

    make(1);
    old = obtain(0).claim;
    REQUIRE_EQUAL(cpool_priority_put(pool, old), 0);
    REQUIRE_EQUAL(cpool_objects_resize(pool, -1, 0), 1);
    REQUIRE_EQUAL(cpool_objects_resize(pool, 1, 0), 1);
    REQUIRE_EQUAL(obtain(0).uses, 1);
    require_ended(old);
    end(1);
}

TEST(kept_objects_are_not_taken_back)
{
    struct granted grant = {0};
    struct granted a, b;

    make(2);
    a = obtain(CPOOL_PRIORITY_KEPT);
    b = obtain(2);
    REQUIRE(ended_by(3) == b.claim);
    REQUIRE_EQUAL(cpool_objects_reset(pool, 2), 1);
    b = obtain(8);
    REQUIRE_EQUAL(cpool_priority_set(pool, b.claim, CPOOL_PRIORITY_KEPT), 0);
    REQUIRE_EQUAL(object_granted(pool, CPOOL_PRIORITY_KEPT, &grant), CPOOL_EDRY);
    REQUIRE_EQUAL(cpool_priority_set(pool, a.claim, 7), 0);
    REQUIRE(ended_by(9) == a.claim);
    REQUIRE_EQUAL(cpool_priority_put(pool, b.claim), 0); /* its holder may */
    end(1);
}

TEST_TIMES(release_puts_back_the_least_important, KINDS)
{
    cpool_claim_t claims[MOST];

    make_of(kinds[_i], MOST);
    REQUIRE_EQUAL(cpool_objects_reset(pool, 1), 0);
    for (size_t i = 0; i < MOST; i++)
        claims[i] = obtain((int64_t)(i * 5 % MOST)).claim;
    REQUIRE_EQUAL(cpool_objects_reset(pool, 3), 3);
    for (size_t i = 0; i < MOST; i++) {
        if (i * 5 % MOST < 3)
            require_ended(claims[i]);
        else
            REQUIRE_EQUAL(cpool_priority_set(pool, claims[i], 0), 0);
    }
    thing_require(pool, &account, MOST - 3);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX - 1), MOST - 3);
    end(0);
}

TEST(shrink_takes_the_least_important_active_objects)
{
    cpool_claim_t claims[4];

    make(4);
    for (size_t i = 0; i < 4; i++)
        claims[i] = obtain((int64_t)(4 - i)).claim;
    REQUIRE_EQUAL(cpool_priority_set(pool, claims[3], CPOOL_PRIORITY_KEPT), 0);
    REQUIRE_EQUAL(cpool_objects_resize(pool, -2, CPOOL_OBJECT_ACTIVE_TOO), 2);
    require_ended(claims[1]);
    require_ended(claims[2]);
    REQUIRE_EQUAL(cpool_objects_resize(pool, -2, CPOOL_OBJECT_ACTIVE_TOO), 1); /* one is kept */
    REQUIRE_EQUAL(cpool_priority_set(pool, claims[3], 0), 0);
    REQUIRE_EQUAL(cpool_objects_resize(pool, -1, CPOOL_OBJECT_ACTIVE_TOO), 1);
    require_ended(claims[3]);
    end(0);
}

/*
 * ---- Beside the functions of object pools --------------------------------
 */

TEST_TIMES(plain_gets_and_puts_keep_the_order, KINDS)
{
    struct granted first;

    make_of(kinds[_i], 2);
    first = obtain(1);
    REQUIRE(cpool_object_get(pool) != NULL);
    REQUIRE(ended_by(5) != 0 && object_active(pool, first.object));
    cpool_object_put(pool, first.object);
    REQUIRE(ended_by(6) == 0);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), 2);
    REQUIRE_EQUAL(cpool_objects_reset(pool, 1), 0);
    end(0);
}

TEST(unfit_object_reclaimed_is_replaced)
{
    struct granted grant = {0};
    cpool_claim_t held;

    make(1);
    held = obtain(0).claim;
    account.activate_fails = EPIPE;
    REQUIRE_EQUAL(object_granted(pool, 0, &grant), EPIPE);
    REQUIRE(grant.object == NULL && grant.claim == 0 && grant.ended == held);
    require_ended(held);
    account.activate_fails = 0;
    thing_require(pool, &account, 0);
    obtain(0);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), 1);
    thing_end(pool, &account);
}

TEST(flags_that_make_no_sense_refused)
{
    static const unsigned wrong_flags[] = { CPOOL_OBJECT_PRIORITY | CPOOL_OBJECT_WAITABLE,
                                            CPOOL_OBJECT_KEEP_LARGER };
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_grant_t wrong = CPOOL_GRANT_INIT;
    struct granted grant = {0};
    void *object;

    make(1);
    wrong.size = 0;
    REQUIRE_EQUAL(cpool_object_get_with(pool, &object, &wrong), CPOOL_ESTRUCT);
    end(0);
    config.capacity = 1;
    pool = thing_pool(&config, &type);
    REQUIRE_EQUAL(object_granted(pool, 0, &grant), 0); /* as any get */
    REQUIRE(grant.object != NULL && grant.claim != 0 && grant.uses == 1);
    require_ended((cpool_claim_t)1 << 32 | 1);
    object = grant.object;
    REQUIRE_EQUAL(object_granted(pool, 0, &grant), CPOOL_EDRY);
    cpool_object_put(pool, object);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    config.type = &type;
    for (int i = 0; i < 2; i++) {
        config.flags = wrong_flags[i];
        REQUIRE_EQUAL(cpool_objects_create(&pool, &config), CPOOL_EFLAGS);
    }
}
