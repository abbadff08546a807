/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_checked.c - checked pools: double frees, and caches in the wrong hands.
 * J.  Dunstan's kinds of error, each.  (Guards: check_guard.c; leaks:
 * check_leaks.c.)
 */
#include "support.h"

enum { CAPACITY = 200 };

static cpool_t *make_checked(size_t slot_size)
{
    support_capture_reports();
    return support_create_kind(slot_size, CAPACITY, CPOOL_CHECKED);
}

/* --- Double free --- */

TEST(free_twice_in_one_bulk_reported_once)
{
    cpool_t *pool = make_checked(24);
    void *slots[4];

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 3, 0), 3);
    slots[3] = slots[1];
    cpool_free_bulk(pool, slots, 4);
    (void)REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    support_require_live(pool, 0);
    support_destroy_empty(pool);
}

struct race {
    pthread_barrier_t barrier;
    cpool_t *pool;
    void *slot;
    int rounds;
};

static void *free_in_race(void *argument)
{
    struct race *race = argument;

    for (int i = 0; i < race->rounds; i++) {
        pthread_barrier_wait(&race->barrier);
        cpool_free(race->pool, race->slot);
        pthread_barrier_wait(&race->barrier);
    }
    return NULL;
}

TEST_TIMES(free_by_two_threads_at_once_refuses_one, 2)
{
    static const unsigned flags[] = { CPOOL_CHECKED, CPOOL_TRACKED };
    struct race race;
    pthread_t threads[2];

    support_capture_reports();
    race.pool = support_create_kind(24, CAPACITY, flags[_i]);
    race.rounds = SUPPORT_COUNT(5000, 500);
    REQUIRE_EQUAL(pthread_barrier_init(&race.barrier, NULL, 3), 0);
    for (int i = 0; i < 2; i++)
        threads[i] = support_start(free_in_race, &race);
    for (int i = 0; i < race.rounds; i++) {
        race.slot = cpool_alloc(race.pool);
        pthread_barrier_wait(&race.barrier);
        pthread_barrier_wait(&race.barrier);
        (void)REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    }
    for (int i = 0; i < 2; i++)
        support_join(threads[i]);
    support_destroy_whole(race.pool);
}

/* --- Caches in the wrong hands --- */

struct hands {
    cpool_cache_t *cache;
    void *slot;
};

static void *use_handed_cache(void *argument)
{
    struct hands *hands = argument;

    cpool_cache_free(hands->cache, hands->slot);
    hands->slot = cpool_cache_alloc(hands->cache);
    return NULL;
}

TEST(cache_created_may_be_used_by_any_thread)
{
    cpool_t *pool = make_checked(24);
    struct hands hands;

    REQUIRE_EQUAL(cpool_cache_create(&hands.cache, pool), 0);
    hands.slot = cpool_cache_alloc(hands.cache);
    for (int i = 0; i < 5; i++)
        support_in_thread(use_handed_cache, &hands);
    cpool_cache_free(hands.cache, hands.slot);
    cpool_cache_destroy(hands.cache);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

/* The handle of a cache that was destroyed is refused, although others were created. */
TEST(cache_used_after_its_end_refused)
{
    cpool_t *pool = make_checked(24);
    cpool_cache_t *ended;
    cpool_cache_t *caches[10];

    REQUIRE_EQUAL(cpool_cache_create(&ended, pool), 0);
    cpool_cache_destroy(ended);
    for (int i = 0; i < 10; i++)
        REQUIRE_EQUAL(cpool_cache_create(&caches[i], pool), 0);
    REQUIRE(cpool_cache_alloc(ended) == NULL);
    REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_EPOOL).function, "cpool_cache_alloc") == 0);
    cpool_cache_free(ended, ended);
    REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_EPOOL).function, "cpool_cache_free") == 0);
    cpool_cache_destroy(ended);
    (void)REQUIRE_REPORT(CPOOL_EPOOL);
    for (int i = 0; i < 10; i++)
        cpool_cache_destroy(caches[i]);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}
