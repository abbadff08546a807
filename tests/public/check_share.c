/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_share.c - how much a thread's cache may hold: that of the configuration, or one that
 * follows from the pool's size, and the statistics show it.
 */
#include "support.h"

enum { SLOT_SIZE = 16, CAPACITY = 100000, ROUNDS = 16, WARM_UP = 50, BURSTS = 200 };

static cpool_t *create(size_t rounds, size_t cache_slots)
{
    return SUPPORT_CREATE(SLOT_SIZE, CAPACITY, .magazine_rounds = rounds,
                          .cache_slots = cache_slots);
}

static void run_bursts(cpool_t *pool, size_t length, size_t bursts)
{
    void **slots = support_calloc(length, sizeof *slots);

    for (size_t burst = 0; burst < bursts; burst++) {
        for (size_t i = 0; i < length; i++)
            REQUIRE((slots[i] = cpool_alloc(pool)) != NULL);
        for (size_t i = 0; i < length; i++)
            cpool_free(pool, slots[i]);
    }
    free(slots);
}

/* Exchanges that so many bursts cost once the cache has its magazines. */
static uint64_t exchanges_of_bursts(cpool_t *pool, size_t length)
{
    uint64_t before;

    run_bursts(pool, length, WARM_UP);
    before = support_stats(pool).exchanges;
    run_bursts(pool, length, BURSTS);
    return support_stats(pool).exchanges - before;
}

TEST(burst_within_configured_cache_stays_off_the_depot)
{
    cpool_t *pool = create(ROUNDS, 1024);

    REQUIRE_EQUAL(exchanges_of_bursts(pool, 1000), 0);
    support_destroy_empty(pool);
}

TEST(burst_beyond_configured_cache_meets_the_depot)
{
    cpool_t *pool = create(ROUNDS, 512);

    REQUIRE(exchanges_of_bursts(pool, 1000) >= (uint64_t)BURSTS * (1000 - 512 - ROUNDS) / ROUNDS);
    REQUIRE(support_stats(pool).in_caches <= 512);
    REQUIRE(support_stats(pool).spare_limit <= 512 / ROUNDS - 1);
    support_destroy_empty(pool);
}

TEST(cache_with_configured_rounds_holds_two_magazines)
{
    cpool_t *pool = create(ROUNDS, 0);

    REQUIRE(exchanges_of_bursts(pool, 1000) > BURSTS);
    REQUIRE(support_stats(pool).in_caches <= 2 * ROUNDS);
    REQUIRE_EQUAL(support_stats(pool).spare_limit, 1);
    support_destroy_empty(pool);
}

TEST(cache_left_to_itself_holds_long_bursts)
{
    cpool_t *pool = create(0, 0);

    REQUIRE_EQUAL(exchanges_of_bursts(pool, 4096), 0);
    REQUIRE(support_stats(pool).spare_limit > 1);
    support_destroy_empty(pool);
}

TEST(callers_memory_holds_the_configured_cache)
{
    cpool_config_t config = support_config(SLOT_SIZE, 2000);
    cpool_t *pool;

    config.magazine_rounds = ROUNDS;
    config.cache_slots = 1024;
    config.thread_caches = 2;
    config.memory_size = cpool_memory_required(&config);
    config.memory = support_lines(config.memory_size);
    pool = support_create(&config);
    REQUIRE_EQUAL(exchanges_of_bursts(pool, 900), 0);
    support_destroy_whole(pool);
}

TEST(alloc_takes_what_a_hundred_caches_have_loaded)
{
    enum { CACHES = 100, SLOTS = 400 };
    cpool_t *pool = SUPPORT_CREATE(16, SLOTS, .thread_caches = CACHES + 1, .magazine_rounds = 4);
    cpool_cache_t *caches[CACHES];
    void *slots[SLOTS];
    uint64_t calls;

    support_require_obtainable(pool, 0); /* so that all memory is there */
    cpool_flush(pool);
    for (size_t i = 0; i < CACHES; i++) {
        REQUIRE_EQUAL(cpool_cache_create(&caches[i], pool), 0);
        slots[i] = cpool_cache_alloc(caches[i]);
        REQUIRE(slots[i] != NULL);
    }
    for (size_t i = 0; i < CACHES; i++)
        cpool_cache_free(caches[i], slots[i]);
    calls = support_stats(pool).system_calls;
    for (size_t i = 0; i < SLOTS; i++) {
        slots[i] = cpool_alloc(pool);
        REQUIRE(slots[i] != NULL);
    }
    REQUIRE(cpool_alloc(pool) == NULL);
    /* One for all that others have loaded, and one for the last alloc, which finds nothing. */
    REQUIRE(support_stats(pool).system_calls - calls <= 2);
    for (size_t i = 0; i < SLOTS; i++)
        cpool_free(pool, slots[i]);
    support_destroy_empty(pool);
}
