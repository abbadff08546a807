/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_handles.c - explicit caches: the thread's own, those that belong to the
 * holder of the handle, and flushing.
 *
 * Includes the public API only.
 */
#include "support.h"

#include <string.h>

enum { CAPACITY = 1000 };

static cpool_t *pool;

static void make_pool(size_t thread_caches)
{
    cpool_config_t config = support_config(32, CAPACITY);

    config.thread_caches = thread_caches;
    pool = support_create(&config);
}

static cpool_cache_t *make_cache(void)
{
    cpool_cache_t *cache = NULL;

    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    REQUIRE(cache != NULL);
    return cache;
}

/*
 * ---- The thread's own ----------------------------------------------------
 */

TEST(cache_asked_twice_is_the_same)
{
    cpool_cache_t *cache;

    make_pool(0);
    cache = cpool_cache(pool);
    REQUIRE(cache != NULL);
    REQUIRE(cpool_cache(pool) == cache);
    cpool_free(pool, cpool_alloc(pool));
    REQUIRE(cpool_cache(pool) == cache);
    REQUIRE_EQUAL(support_stats(pool).thread_caches, 1);
    support_destroy_empty(pool);
}

static void *require_other_cache(void *mine)
{
    cpool_cache_t *cache = cpool_cache(pool);

    REQUIRE(cache != NULL);
    REQUIRE(cache != mine);
    REQUIRE_EQUAL(support_stats(pool).thread_caches, 2);
    return NULL;
}

TEST(cache_of_another_thread_is_another)
{
    make_pool(0);
    support_in_thread(require_other_cache, cpool_cache(pool));
    REQUIRE_EQUAL(support_stats(pool).thread_caches, 1);
    support_destroy_empty(pool);
}

static void *work_without_cache(void *unused)
{
    void *slots[100];

    REQUIRE(cpool_cache(pool) == NULL);
    for (int i = 0; i < 100; i++) {
        slots[i] = cpool_alloc(pool);
        REQUIRE(cpool_owns(pool, slots[i]));
    }
    for (int i = 0; i < 100; i++)
        cpool_free(pool, slots[i]);
    REQUIRE(cpool_cache(pool) == NULL);
    REQUIRE_EQUAL(support_stats(pool).thread_caches, 1);
    return unused;
}

TEST(cache_when_all_taken_is_null_and_alloc_works)
{
    cpool_cache_t *cache = (cpool_cache_t *)(void *)&pool;
    void *slot;

    make_pool(1);
    slot = cpool_alloc(pool);
    REQUIRE(cpool_cache(pool) != NULL);
    support_in_thread(work_without_cache, NULL);
    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), CPOOL_ENOMEM);
    REQUIRE(cache == NULL);
    cpool_free(pool, slot);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

/*
 * ---- Flushing ------------------------------------------------------------
 */

static void *take_every_slot(void *unused)
{
    support_require_obtainable(pool, 0);
    return unused;
}

TEST(flush_gives_all_to_other_threads)
{
    void *slots[300];

    make_pool(0);
    for (int i = 0; i < 300; i++)
        slots[i] = cpool_alloc(pool);
    for (int i = 0; i < 300; i++)
        cpool_free(pool, slots[i]);
    REQUIRE(support_stats(pool).in_caches > 0);
    cpool_flush(pool);
    REQUIRE_EQUAL(support_stats(pool).in_caches, 0);
    support_require_live(pool, 0);
    support_in_thread(take_every_slot, NULL);
    /* The cache stays usable. */
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

TEST(flush_before_first_use_does_nothing)
{
    make_pool(0);
    cpool_flush(pool);
    cpool_flush(pool);
    support_require_live(pool, 0);
    REQUIRE_EQUAL(support_stats(pool).fresh, CAPACITY);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

/*
 * ---- Those of whoever holds the handle -----------------------------------
 */

TEST(cache_destroy_returns_slots)
{
    cpool_cache_t *cache;
    void *slots[100];

    make_pool(0);
    cache = make_cache();
    REQUIRE(cache != cpool_cache(pool));
    REQUIRE_EQUAL(support_stats(pool).thread_caches, 2);
    for (int i = 0; i < 100; i++)
        slots[i] = cpool_cache_alloc(cache);
    for (int i = 0; i < 90; i++)
        cpool_cache_free(cache, slots[i]);
    REQUIRE(support_stats(pool).in_caches > 0);
    cpool_cache_destroy(cache);
    REQUIRE_EQUAL(support_stats(pool).thread_caches, 1);
    REQUIRE_EQUAL(support_stats(pool).in_caches, 0);
    support_require_live(pool, 10);
    support_require_obtainable(pool, 10);
    for (int i = 90; i < 100; i++)
        cpool_free(pool, slots[i]);
    support_destroy_empty(pool);
}

TEST(cache_destroy_null_does_nothing)
{
    support_capture_reports();
    cpool_cache_destroy(NULL);
    REQUIRE_NO_REPORT();
}

TEST(cache_destroy_of_thread_own_refused)
{
    cpool_cache_t *cache;
    void *slot;

    make_pool(0);
    support_capture_reports();
    cache = cpool_cache(pool);
    slot = cpool_cache_alloc(cache);
    cpool_cache_destroy(cache);
    REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_EOWNER).function, "cpool_cache_destroy") == 0);
    REQUIRE(cpool_cache(pool) == cache);
    cpool_cache_free(cache, slot);
    REQUIRE(cpool_cache_alloc(cache) == slot);
    REQUIRE_NO_REPORT();
    REQUIRE_EQUAL(support_destroy(pool), 1);
}

TEST(cache_create_and_destroy_often_makes_no_more_magazines)
{
    size_t magazines = 0;

    make_pool(4);
    for (size_t i = 0; i < SUPPORT_COUNT(10000, 1000); i++) {
        cpool_cache_t *cache = make_cache();
        void *slots[100];

        for (size_t n = 0; n < 1 + i % 100; n++)
            slots[n] = cpool_cache_alloc(cache);
        for (size_t n = 0; n < 1 + i % 100; n++)
            cpool_cache_free(cache, slots[n]);
        cpool_cache_destroy(cache);
        REQUIRE_EQUAL(support_stats(pool).in_caches, 0);
        if (i == 200)
            magazines = support_stats(pool).magazines;
    }
    REQUIRE_EQUAL(support_stats(pool).magazines, magazines);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

TEST(destroy_with_caches_left_ends_them)
{
    make_pool(0);
    for (int i = 0; i < 5; i++) {
        cpool_cache_t *cache = make_cache();

        cpool_cache_free(cache, cpool_cache_alloc(cache));
    }
    support_destroy_empty(pool);
}
