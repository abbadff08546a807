/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_wait.c - sleeping until a slot is free: a thread that frees one wakes a
 * waiter, and giving up is nothing special.  Any pool can be waited for.
 *
 * Includes waiter.h.
 */
#include "waiter.h"

enum { CAPACITY = 20, WAITERS = 6 };

static const struct timespec no_time = { 0, 0 };
static const struct timespec a_moment = { 0, 2000000 };
static const struct timespec a_second = { 1, 0 };

static double seconds_now(void)
{
    struct timespec now;

    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/*
 * ---- What is asked of the pool -------------------------------------------
 */

TEST_TIMES(wait_while_slots_are_free_is_alloc, 2)
{
    cpool_t *pool = waiter_pool(_i == 0 ? 0 : CPOOL_CHECKED, CAPACITY);
    struct hold hold;

    hold_init(&hold, pool);
    for (int i = 0; i < CAPACITY; i++)
        hold_add(&hold, cpool_alloc_wait(pool, i % 2 == 0 ? NULL : &no_time));
    REQUIRE_EQUAL(support_stats(pool).waits, 0);
    REQUIRE(cpool_alloc(pool) == NULL);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}

TEST_TIMES(wait_until_time_is_up_is_null, 2)
{
    cpool_t *pool = waiter_pool(_i == 0 ? 0 : CPOOL_CHECKED, CAPACITY);
    struct hold hold;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    support_capture_reports();
    for (unsigned i = 1; i <= 20; i++) {
        double before = seconds_now();

        REQUIRE(cpool_alloc_wait(pool, &a_moment) == NULL);
        REQUIRE(seconds_now() - before >= 0.002);
        REQUIRE(support_stats(pool).waits <= i); /* its time may be up before it sleeps */
    }
    /* So it is each time beside busy processors. */
    for (int i = 0; i < 60 && support_stats(pool).waits == 0; i++)
        REQUIRE(cpool_alloc_wait(pool, &a_second) == NULL);
    REQUIRE(support_stats(pool).waits > 0);
    REQUIRE_NO_REPORT();
    support_require_live(pool, CAPACITY);
    hold_free_all(&hold);
    support_require_obtainable(pool, 0);
    hold_fini(&hold);
    support_destroy_empty(pool);
}

/*
 * ---- Being served --------------------------------------------------------
 */

static void release_to_waiter(unsigned flags, void (*body)(void *argument))
{
    struct release release = { waiter_pool(flags, CAPACITY), NULL, NULL };
    struct worker *other = worker_start();
    struct waiter waiter;
    struct hold hold;

    REQUIRE_EQUAL(cpool_cache_create(&release.cache, release.pool), 0);
    hold_init(&hold, release.pool);
    waiter_start(&waiter, release.pool, NULL);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    for (unsigned i = 1; i <= 50; i++) {
        waiter_begin(&waiter);
        waiter_await_sleep(release.pool, i);
        release.slot = hold.slots[--hold.count];
        /* Here, and in a thread that has never used the pool before. */
        if (i % 2 == 0)
            body(&release);
        else
            worker_do(other, body, &release);
        REQUIRE(waiter_end(&waiter) == release.slot);
        REQUIRE_EQUAL(support_stats(release.pool).live, CAPACITY);
        hold_add(&hold, waiter.slot);
    }
    hold_free_all(&hold);
    worker_stop(waiter.worker);
    worker_stop(other);
    cpool_cache_destroy(release.cache);
    support_require_obtainable(release.pool, 0);
    hold_fini(&hold);
    support_destroy_empty(release.pool);
}

TEST_TIMES(wait_ends_with_the_slot_that_is_freed, 2 * WAITER_RELEASES)
{
    release_to_waiter(_i < WAITER_RELEASES ? 0 : CPOOL_CHECKED,
                      waiter_releases[_i % WAITER_RELEASES]);
}

/* A thread that waits is handed slots that others have in their caches. */
TEST(wait_takes_what_lies_in_caches)
{
    cpool_t *pool = waiter_pool(0, CAPACITY);
    struct waiter waiters[WAITERS];
    struct hold hold;

    hold_init(&hold, pool);
    for (int i = 0; i < WAITERS; i++) {
        waiter_start(&waiters[i], pool, NULL);
        waiters[i].forget = true;
        hold_take(&hold, SIZE_MAX);
        REQUIRE_EQUAL(hold.count, CAPACITY);
        hold_free(&hold, 1 + (size_t)i);
        for (int round = 0; round < 20; round++) {
            waiter_begin(&waiters[i]);
            REQUIRE(waiter_end(&waiters[i]) != NULL);
        }
    }
    hold_free_all(&hold);
    for (int i = 0; i < WAITERS; i++)
        worker_stop(waiters[i].worker);
    hold_fini(&hold);
    support_destroy_empty(pool);
}

/* The stray slot is below the bound that the thread's cache has seen, and the cache is flushed. */
TEST(stray_free_after_a_shrink_keeps_no_thread_waiting)
{
    cpool_t *pool = waiter_pool(0, CAPACITY);
    struct hold hold;
    void *last;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    last = hold.slots[0];
    for (size_t i = 1; i < CAPACITY; i++)
        if ((uintptr_t)hold.slots[i] > (uintptr_t)last)
            last = hold.slots[i];
    hold_free_all(&hold);
    hold_fini(&hold);
    REQUIRE_EQUAL(cpool_shrink(pool, 5), 5);
    support_capture_reports();
    cpool_free(pool, last);
    REQUIRE_REPORT(CPOOL_EUNUSED);
    support_release_reports();
    support_destroy_empty(pool);
}

/* A slot that nobody frees: it comes into being. */
TEST_TIMES(wait_ends_when_the_pool_is_grown, 2)
{
    cpool_t *pool = waiter_pool(_i == 0 ? 0 : CPOOL_CHECKED, CAPACITY);
    struct waiter waiter;
    struct hold hold;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(cpool_shrink(pool, 5), 5);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY - 5);
    waiter_start(&waiter, pool, NULL);
    for (unsigned i = 1; i <= 5; i++) {
        waiter_begin(&waiter);
        waiter_await_sleep(pool, i);
        REQUIRE_EQUAL(cpool_grow(pool, 1), 1);
        hold_add(&hold, waiter_end(&waiter));
    }
    worker_stop(waiter.worker);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}

/* A pool that may grow does, before anybody waits. */
TEST(wait_grows_the_pool_first)
{
    cpool_config_t config = support_config(WAITER_SLOT_SIZE, CAPACITY);
    struct hold hold;
    cpool_t *pool;

    config.max_capacity = 3 * CAPACITY;
    pool = support_create(&config);
    hold_init(&hold, pool);
    for (int i = 0; i < 3 * CAPACITY; i++)
        hold_add(&hold, cpool_alloc_wait(pool, NULL));
    REQUIRE_EQUAL(support_stats(pool).waits, 0);
    REQUIRE(cpool_alloc_wait(pool, &a_moment) == NULL);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}

/*
 * ---- A pool of a size and a capacity, no more ------------------------------
 */

enum { SLEEPERS = 64, USED = 600, KEPT = 3 };

struct asleep {
    cpool_t *pool;
    struct support_door door;
};

/* Sleeps with few slots and a full cache, and then frees the slots. */
static void *sleep_on_full_cache(void *argument)
{
    struct asleep *asleep = argument;
    void *slots[USED];

    for (size_t i = 0; i < USED; i++)
        REQUIRE((slots[i] = cpool_alloc(asleep->pool)) != NULL);
    for (size_t i = KEPT; i < USED; i++)
        cpool_free(asleep->pool, slots[i]);
    support_door_wait(&asleep->door);
    for (size_t i = 0; i < KEPT; i++)
        cpool_free(asleep->pool, slots[i]);
    return NULL;
}

TEST(one_thread_obtains_and_awaits_what_many_that_sleep_have_left)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    struct asleep asleep;
    pthread_t threads[SLEEPERS];
    struct waiter waiter;
    struct hold hold;
    uint64_t waits;

    config.slot_size = WAITER_SLOT_SIZE;
    config.capacity = (size_t)2 * SLEEPERS * USED;
    asleep.pool = support_create(&config);
    support_door_init(&asleep.door);
    for (size_t i = 0; i < SLEEPERS; i++)
        threads[i] = support_start(sleep_on_full_cache, &asleep);
    support_door_await(&asleep.door, SLEEPERS);
    hold_init(&hold, asleep.pool);
    REQUIRE(support_stats(asleep.pool).in_caches >= (size_t)SLEEPERS * USED / 2);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), config.capacity - SLEEPERS * KEPT);
    support_require_live(asleep.pool, config.capacity);
    REQUIRE(cpool_alloc_wait(asleep.pool, &a_moment) == NULL);
    waits = support_stats(asleep.pool).waits;
    waiter_start(&waiter, asleep.pool, NULL);
    waiter_begin(&waiter);
    waiter_await_sleep(asleep.pool, waits + 1);
    support_door_open(&asleep.door);
    REQUIRE(waiter_end(&waiter) != NULL);
    hold_add(&hold, waiter.slot);
    for (size_t i = 0; i < SLEEPERS; i++)
        support_join(threads[i]);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), (size_t)SLEEPERS * KEPT - 1);
    hold_verify(&hold);
    worker_stop(waiter.worker);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(asleep.pool);
}
