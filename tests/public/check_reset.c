/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_reset.c - taking back every slot at once, and destroying with slots
 * live.
 */
#include "support.h"

enum { CAPACITY = 1000 };

static cpool_t *make_pool(unsigned flags)
{
    return support_create_kind(16, CAPACITY, flags);
}

/* Slots come in order of address again, all of them. */
static void require_as_new(cpool_t *pool)
{
    struct figures stats = support_stats(pool);

    REQUIRE_EQUAL(stats.live, 0);
    REQUIRE_EQUAL(stats.in_depot, 0);
    REQUIRE_EQUAL(stats.in_caches, 0);
    REQUIRE_EQUAL(stats.fresh, CAPACITY);
    REQUIRE_EQUAL(stats.caches, 0);
    for (size_t i = 0; i < CAPACITY; i++)
        REQUIRE_EQUAL(cpool_index(pool, cpool_alloc(pool)), i);
    REQUIRE(cpool_alloc(pool) == NULL);
    REQUIRE_EQUAL(cpool_reset(pool), CAPACITY);
}

static const unsigned modes[] = { 0, CPOOL_CHECKED };

TEST_TIMES(reset_with_live_cached_and_fresh_releases_the_live, 2)
{
    cpool_t *pool = make_pool(modes[_i]);
    void *slots[CAPACITY];

    for (size_t round = 0; round < 10; round++) {
        size_t taken = round * 70;
        size_t freed = taken / 3;

        for (size_t i = 0; i < taken; i++)
            slots[i] = cpool_alloc(pool);
        for (size_t i = 0; i < freed; i++)
            cpool_free(pool, slots[i]);
        if (round % 2 == 0)
            cpool_flush(pool);
        REQUIRE_EQUAL(cpool_reset(pool), taken - freed);
        support_require_live(pool, 0);
    }
    require_as_new(pool);
    support_destroy_empty(pool);
}

TEST_TIMES(reset_keeps_bytes, 2)
{
    cpool_t *pool = make_pool(modes[_i]);

    for (int i = 0; i < CAPACITY; i++)
        memset(cpool_alloc(pool), i, 16);
    REQUIRE_EQUAL(cpool_reset(pool), CAPACITY);
    for (int i = 0; i < CAPACITY; i++) {
        const unsigned char *slot = cpool_alloc(pool);

        for (int byte = 0; byte < 16; byte++)
            REQUIRE(slot[byte] == (unsigned char)i);
    }
    REQUIRE_EQUAL(support_destroy(pool), CAPACITY);
}

TEST_TIMES(reset_ends_created_caches, 2)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_cache_t *cache;

    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 5; i++) {
            REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
            REQUIRE(cpool_cache_alloc(cache) != NULL);
            cpool_cache_free(cache, cpool_cache_alloc(cache));
        }
        REQUIRE_EQUAL(support_stats(pool).caches, 5);
        REQUIRE_EQUAL(cpool_reset(pool), 5);
        REQUIRE_EQUAL(support_stats(pool).caches, 0);
    }
    require_as_new(pool);
    support_destroy_empty(pool);
}

static void *take_and_free_some(void *pool)
{
    void *slots[50];
    size_t got = cpool_alloc_bulk(pool, slots, 50, 0);

    cpool_free_bulk(pool, slots, got / 2);
    return NULL;
}

/* Uses as much of a pool as can be used, by caches of every kind, and resets it. */
static void use_up_and_reset(cpool_t *pool, void **slots)
{
    cpool_cache_t *cache = NULL;
    size_t count;

    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    cpool_cache_free(cache, cpool_cache_alloc(cache));
    support_in_thread(take_and_free_some, pool);
    count = support_take_all(pool, slots);
    for (size_t n = 0; n < count; n += 2)
        cpool_free(pool, slots[n]);
    (void)cpool_reset(pool);
    require_as_new(pool);
}

/* The memory taken by then is all that is ever taken. */
TEST_TIMES(reset_often_takes_no_more_memory, 2)
{
    void **slots = support_calloc(CAPACITY, sizeof(*slots));
    struct figures before;
    struct figures after;
    size_t resident;
    cpool_t *pool;

    /* A checked pool makes all caches before it gives a handle out again. */
    pool = SUPPORT_CREATE(16, CAPACITY, .flags = modes[_i], .thread_caches = 8);
    for (int i = 0; i < 10; i++)
        use_up_and_reset(pool, slots);
    before = support_stats(pool);
    resident = support_resident();
    for (size_t i = 0; i < SUPPORT_COUNT(200u, 20u); i++)
        use_up_and_reset(pool, slots);
    free(slots); /* before anything fails, for tools that look for leaks */
    after = support_stats(pool);
    REQUIRE_EQUAL(after.magazines, before.magazines);
    REQUIRE_EQUAL(after.committed_bytes, before.committed_bytes);
    REQUIRE_EQUAL(after.reserved_bytes, before.reserved_bytes);
    REQUIRE(SUPPORT_SANITIZED || support_resident() <= resident + 16 * support_page_size());
    support_destroy_empty(pool);
}

/* Bytes that become resident, and slots that are touched, by taking a few slots of a
 * pool and resetting it. */
static size_t touched_by_reset(size_t capacity)
{
    cpool_t *pool = SUPPORT_CREATE(4096, capacity, .magazine_rounds = 8);
    size_t before;
    size_t after;

    for (int i = 0; i < 20; i++)
        REQUIRE(cpool_alloc(pool) != NULL);
    before = support_resident();
    REQUIRE_EQUAL(cpool_reset(pool), 20);
    after = support_resident();
    support_destroy_empty(pool);
    return after > before ? after - before : 0;
}

/* A look at each slot or magazine that there may be would touch megabytes. */
TEST(reset_of_a_large_pool_touches_no_more_than_of_a_small_one)
{
    SKIP_IF(SUPPORT_SANITIZED, "sanitizers need memory of their own");
    SKIP_IF(sizeof(size_t) < 8, "there are not enough addresses");
    REQUIRE(touched_by_reset(1000) <= 8 * support_page_size());
    REQUIRE(touched_by_reset((size_t)1 << 24) <= 8 * support_page_size());
}

TEST(destroy_with_live_slots_returns_their_number)
{
    for (int live = 0; live < 300; live += 7) {
        cpool_t *pool = make_pool(0);
        void *slots[400];

        for (int i = 0; i < 400; i++)
            slots[i] = cpool_alloc(pool);
        for (int i = live; i < 400; i++)
            cpool_free(pool, slots[i]);
        REQUIRE_EQUAL(support_destroy(pool), live);
    }
}
