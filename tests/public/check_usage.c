/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_usage.c - the peak and the average of live slots, as cpool_stats shows them.
 *
 * Includes the public API only.
 */
#include "support.h"

#define CAPACITY 4096

/* A burst within a magazine meets no exchange. */
TEST(peak_is_never_below_what_is_live)
{
    cpool_t *pool = support_create_plain(32, CAPACITY);
    void *slots[5];

    REQUIRE_EQUAL(support_stats(pool).peak, 0);
    for (size_t i = 0; i < 5; i++)
        slots[i] = cpool_alloc(pool);
    REQUIRE_EQUAL(support_stats(pool).live, 5);
    REQUIRE_EQUAL(support_stats(pool).peak, 5);
    cpool_free_bulk(pool, slots, 5);
    REQUIRE_EQUAL(support_stats(pool).peak, 5);
    support_destroy_empty(pool);
}

static const unsigned kinds[] = { 0, CPOOL_CHECKED };

static void use(cpool_t *pool, void **slots, size_t n)
{
    for (size_t i = 0; i < n; i++)
        slots[i] = cpool_alloc(pool);
    for (size_t i = 0; i < n; i++)
        cpool_free(pool, slots[i]);
}

static cpool_t *create(unsigned flags)
{
    cpool_config_t config = support_config(32, CAPACITY);

    config.flags = flags;
    config.magazine_rounds = 8;
    return support_create(&config);
}

/* Nothing is live when cpool_stats looks, so allocs have counted all that it shows. */
TEST_TIMES(allocs_count_what_is_live, sizeof(kinds) / sizeof(kinds[0]))
{
    static void *slots[CAPACITY];
    cpool_t *pool = create(kinds[_i]);
    cpool_stats_t stats;

    use(pool, slots, CAPACITY);
    stats = support_stats(pool);
    REQUIRE_EQUAL(stats.live, 0);
    REQUIRE(stats.peak >= CAPACITY / 2);
    REQUIRE(stats.peak <= stats.circulating);
    REQUIRE(stats.average > CAPACITY / 4);
    REQUIRE(stats.average <= stats.peak);
    support_destroy_empty(pool);
}

/* With one thread each count is exact. */
TEST_TIMES(average_is_that_of_the_counts, sizeof(kinds) / sizeof(kinds[0]))
{
    static void *held[1000];
    static void *slots[200];
    cpool_t *pool = create(kinds[_i]);
    cpool_stats_t stats;

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, held, 1000), 1000);
    for (size_t round = 0; round < 1000; round++)
        use(pool, slots, 200);
    cpool_free_bulk(pool, held, 1000);
    stats = support_stats(pool);
    REQUIRE_EQUAL(stats.live, 0);
    REQUIRE(stats.average >= 990 && stats.average <= 1200);
    REQUIRE(stats.peak >= stats.average && stats.peak <= 1200);
    support_destroy_empty(pool);
}
