/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steady.c - the steady state: a pool that has what it needs asks the operating system
 * for nothing more.  Two readings of the counters say so, and check_real_time.c a filter.
 */
#include "growth.h"

enum { SLOT_SIZE = 64, CAPACITY = 10000, FRAME = 20, MANY = 2000, TURNS = 500 };

static const unsigned kinds[] = { 0, CPOOL_TRACKED, CPOOL_CHECKED };

static void *slots[CAPACITY];

/* Takes n slots and frees them.  More than a cache holds go by the depot. */
static void use(cpool_t *pool, size_t n)
{
    for (size_t i = 0; i < n; i++)
        REQUIRE((slots[i] = cpool_alloc(pool)) != NULL);
    for (size_t i = 0; i < n; i++)
        cpool_free(pool, slots[i]);
}

/* The first turns fetch what the others need. */
static cpool_t *warm(unsigned flags)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, flags, CAPACITY, 0);

    REQUIRE_EQUAL(cpool_reserve(pool, MANY), 0);
    use(pool, MANY);
    use(pool, MANY);
    use(pool, FRAME);
    return pool;
}

static void require_same(const struct figures *before, const struct figures *after)
{
    REQUIRE_EQUAL(after->system_calls, before->system_calls);
    REQUIRE_EQUAL(after->growths, before->growths);
    REQUIRE_EQUAL(after->registrations, before->registrations);
    REQUIRE_EQUAL(after->circulating, before->circulating);
    REQUIRE_EQUAL(after->committed_bytes, before->committed_bytes);
}

TEST_TIMES(frame_in_the_steady_state_changes_no_counter, SUPPORT_LENGTH(kinds))
{
    cpool_t *pool = warm(kinds[_i]);
    struct figures before = support_stats(pool);
    struct figures after;

    REQUIRE(before.magazine_rounds > FRAME);
    for (int turn = 0; turn < TURNS; turn++)
        use(pool, FRAME);
    after = support_stats(pool);
    require_same(&before, &after);
    REQUIRE_EQUAL(after.exchanges, before.exchanges);
    support_destroy_empty(pool);
}

TEST_TIMES(long_frame_in_the_steady_state_makes_exchanges_alone, SUPPORT_LENGTH(kinds))
{
    cpool_t *pool = warm(kinds[_i]);
    struct figures before = support_stats(pool);
    struct figures after;

    for (int turn = 0; turn < TURNS / 10; turn++)
        use(pool, MANY);
    after = support_stats(pool);
    require_same(&before, &after);
    REQUIRE(after.exchanges > before.exchanges);
    support_destroy_empty(pool);
}

static void *use_one(void *pool)
{
    cpool_free(pool, cpool_alloc(pool));
    return NULL;
}

TEST_TIMES(each_first_registration_is_counted, SUPPORT_LENGTH(kinds))
{
    cpool_t *pool = growth_pool(SLOT_SIZE, kinds[_i], CAPACITY, 0);
    cpool_cache_t *cache;

    REQUIRE_EQUAL(support_stats(pool).registrations, 0);
    use(pool, FRAME);
    use(pool, FRAME);
    REQUIRE_EQUAL(support_stats(pool).registrations, 1);
    support_in_thread(use_one, pool);
    support_in_thread(use_one, pool);
    REQUIRE_EQUAL(support_stats(pool).registrations, 3);
    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    cpool_cache_free(cache, cpool_cache_alloc(cache));
    REQUIRE_EQUAL(support_stats(pool).registrations, 4);
    cpool_cache_destroy(cache);
    REQUIRE_EQUAL(support_stats(pool).registrations, 4);
    support_destroy_empty(pool);
}
