/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_checked.c - checked pools: double frees, and caches in the wrong hands.
 * J.  Dunstan's kinds of error, each.  (Guards: check_guard.c; leaks:
 * check_leaks.c.)
 *
 * Includes the public API only.
 */
#include "doors.h"

#include <string.h>

enum { CAPACITY = 200 };

static cpool_t *make_checked(size_t slot_size)
{
    cpool_config_t config = support_config(slot_size, CAPACITY);

    config.flags = CPOOL_CHECKED;
    support_capture_reports();
    return support_create(&config);
}

/*
 * ---- Double free ---------------------------------------------------------
 */

/* Taken at one door, freed at another, and freed again at a third. */
TEST_TIMES(free_twice_reported_and_refused, DOORS * DOORS)
{
    cpool_t *pool = make_checked(24);
    int first = _i / DOORS;
    int second = _i % DOORS;

    REQUIRE_EQUAL(cpool_cache_create(&handed, pool), 0);
    for (int door = 0; door < DOORS; door++) {
        void *spare = alloc_through(door, pool);
        void *slot = alloc_through(door, pool);
        struct support_report report;

        free_through(first, pool, slot);
        REQUIRE_NO_REPORT();
        free_through(second, pool, slot);
        report = REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
        REQUIRE(report.address == slot && report.slot == slot);
        REQUIRE_EQUAL(report.index, cpool_index(pool, slot));
        REQUIRE(report.site != NULL);
        free_through(second, pool, spare);
        REQUIRE_NO_REPORT();
    }
    support_require_live(pool, 0);
    cpool_cache_destroy(handed);
    support_require_obtainable(pool, 0);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

TEST(free_twice_after_others_reported)
{
    cpool_t *pool = make_checked(7);
    void *slots[CAPACITY];

    REQUIRE_EQUAL(support_take_all(pool, slots), CAPACITY);
    for (int i = 0; i < CAPACITY; i++)
        cpool_free(pool, slots[i]);
    cpool_flush(pool);
    for (int i = 0; i < CAPACITY; i++) {
        cpool_free(pool, slots[i]);
        (void)REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    }
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

TEST(free_twice_in_one_bulk_reported_once)
{
    cpool_t *pool = make_checked(24);
    void *slots[4];

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 3), 3);
    slots[3] = slots[1];
    cpool_free_bulk(pool, slots, 4);
    (void)REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    support_require_live(pool, 0);
    support_destroy_empty(pool);
}

/* A slot that was taken by the cache along with others, but never given out. */
TEST(free_of_slot_still_in_cache_reported)
{
    cpool_t *pool = make_checked(24);

    REQUIRE_EQUAL(cpool_index(pool, cpool_alloc(pool)), 0);
    for (size_t i = 1; i < CAPACITY; i++) {
        struct support_report report;

        cpool_free(pool, cpool_at(pool, i));
        REQUIRE_EQUAL(support_take_reports(&report), 1);
        REQUIRE(report.code == CPOOL_EDOUBLEFREE || report.code == CPOOL_EUNUSED);
    }
    REQUIRE_EQUAL(support_destroy(pool), 1);
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
    cpool_config_t config = support_config(24, CAPACITY);
    struct race race;
    pthread_t threads[2];

    support_capture_reports();
    config.flags = flags[_i];
    race.pool = support_create(&config);
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
    support_require_obtainable(race.pool, 0);
    support_destroy_empty(race.pool);
}

/*
 * ---- Caches in the wrong hands -------------------------------------------
 */

struct hands {
    cpool_cache_t *cache;
    void *slot;
};

static void *use_anothers_cache(void *argument)
{
    struct hands *hands = argument;

    REQUIRE(cpool_cache_alloc(hands->cache) == NULL);
    REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_EOWNER).function, "cpool_cache_alloc") == 0);
    cpool_cache_free(hands->cache, hands->slot);
    REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_EOWNER).function, "cpool_cache_free") == 0);
    return NULL;
}

TEST(cache_used_by_wrong_thread_refused)
{
    cpool_t *pool = make_checked(24);
    struct hands hands;

    hands.cache = cpool_cache(pool);
    hands.slot = cpool_cache_alloc(hands.cache);
    support_in_thread(use_anothers_cache, &hands);
    support_require_live(pool, 1);
    cpool_cache_free(hands.cache, hands.slot);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

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

/*
 * ---- Kinds of error ------------------------------------------------------
 */

/* Changes one byte to any other value. */
static void damage(unsigned char *byte)
{
    *byte ^= 0x5A;
}

/* Each public function without a pool.  The inline ones trap, as they say. */
static void require_no_pool_is_refused(void)
{
    void *slots[1];
    void *volatile anything = slots;
    cpool_stats_t stats = CPOOL_STATS_INIT;
    cpool_cache_t *cache = anything;

    REQUIRE_EQUAL(cpool_stats(NULL, &stats), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_destroy(NULL), 0);
    REQUIRE_EQUAL(cpool_cache_create(&cache, NULL), CPOOL_ENULL);
    REQUIRE(cache == NULL);
    REQUIRE_NO_REPORT();
#define REPORTED(call, by)                                                     \
    do {                                                                       \
        call;                                                                  \
        REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_EPOOL).function, by) == 0);        \
    } while (0)
    REPORTED(REQUIRE(cpool_calloc(NULL) == NULL), "cpool_calloc");
    REPORTED(REQUIRE(cpool_depot_alloc(NULL) == NULL), "cpool_depot_alloc");
    REPORTED(cpool_depot_free(NULL, anything), "cpool_depot_free");
    REPORTED(REQUIRE_EQUAL(cpool_alloc_bulk(NULL, slots, 1), 0), "cpool_alloc_bulk");
    REPORTED(cpool_free_bulk(NULL, slots, 1), "cpool_free_bulk");
    REPORTED(REQUIRE(cpool_alloc_wait(NULL, NULL) == NULL), "cpool_alloc_wait");
    REPORTED(REQUIRE(cpool_cache(NULL) == NULL), "cpool_cache");
    REPORTED(cpool_flush(NULL), "cpool_flush");
    REPORTED(REQUIRE_EQUAL(cpool_reset(NULL), 0), "cpool_reset");
    REPORTED(REQUIRE_EQUAL(cpool_grow(NULL, 1), 0), "cpool_grow");
    REPORTED(REQUIRE_EQUAL(cpool_shrink(NULL, 1), 0), "cpool_shrink");
    REPORTED(REQUIRE_EQUAL(cpool_trim(NULL), 0), "cpool_trim");
    REPORTED(REQUIRE(cpool_reserve(NULL, 1) != 0), "cpool_reserve");
#undef REPORTED
}

/* The table of caches is full: no further one, and the pool works as before. */
static void require_full_table_is_refused(void)
{
    cpool_config_t config = support_config(16, 10);
    cpool_cache_t *caches[2];
    cpool_t *pool;

    config.flags = CPOOL_CHECKED;
    config.thread_caches = 1;
    pool = support_create(&config);
    REQUIRE_EQUAL(cpool_cache_create(&caches[0], pool), 0);
    REQUIRE_EQUAL(cpool_cache_create(&caches[1], pool), CPOOL_ENOMEM);
    REQUIRE(caches[1] == NULL);
    REQUIRE(cpool_cache(pool) == NULL);
    cpool_free(pool, cpool_alloc(pool));
    cpool_cache_free(caches[0], cpool_cache_alloc(caches[0]));
    cpool_cache_destroy(caches[0]);
    REQUIRE_EQUAL(cpool_cache_create(&caches[1], pool), 0);
    cpool_cache_destroy(caches[1]);
    support_destroy_empty(pool);
    REQUIRE_NO_REPORT();
}

/* J.  Dunstan's list (unmanaged memory pools, 2017), and the code for each. */
TEST(use_wrong_in_every_known_kind_refused)
{
    cpool_config_t config = support_config(16, 0);
    cpool_t *pool = NULL;
    char not_a_pool[64] = { 0 };
    unsigned char *slots[2];

    support_capture_reports();
    /* null pointer */
    REQUIRE_EQUAL(cpool_create(NULL, &config), CPOOL_ENULL);
    /* count not positive */
    REQUIRE_EQUAL(cpool_create(&pool, &config), CPOOL_ECAPACITY);
    /* size not positive, as there is no other minimum */
    config = support_config(0, 10);
    REQUIRE_EQUAL(cpool_create(&pool, &config), CPOOL_ESLOTSIZE);
    config = support_config(1, 1);
    config.flags = CPOOL_CHECKED;
    pool = support_create(&config);
    REQUIRE_EQUAL(cpool_cache_create(NULL, pool), CPOOL_ENULL);
    /* null pool */
    require_no_pool_is_refused();
    /* table full */
    require_full_table_is_refused();
    /* pool dry */
    slots[0] = cpool_alloc(pool);
    REQUIRE(cpool_alloc(pool) == NULL);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, (void **)slots + 1, 1), 0);
    /* pointer that is not a block of this pool */
    cpool_free(pool, not_a_pool);
    (void)REQUIRE_REPORT(CPOOL_EFOREIGN);
    /* guard overwritten */
    damage(slots[0] + 1);
    cpool_free(pool, slots[0]);
    (void)REQUIRE_REPORT(CPOOL_EGUARD);
    cpool_free(pool, slots[0]);
    /* and one that he leaves unnoticed: a cycle in the list */
    cpool_free(pool, slots[0]);
    (void)REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    support_destroy_empty(pool);
    /* pool uninitialised, pool destroyed */
    REQUIRE_EQUAL(cpool_destroy((cpool_t *)(void *)not_a_pool), CPOOL_EPOOL);
    (void)REQUIRE_REPORT(CPOOL_EPOOL);
    REQUIRE_EQUAL(cpool_destroy(pool), CPOOL_EPOOL);
    (void)REQUIRE_REPORT(CPOOL_EPOOL);
}
