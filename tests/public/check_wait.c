/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_wait.c - sleeping until a slot is free: a thread that frees one wakes a
 * waiter, and giving up is nothing special.  Any pool can be waited for.  The ends that nobody
 * hopes for: odd times, and threads that are cancelled.
 */
#include "waiter.h"

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>

enum { CAPACITY = 20 };

static const struct timespec no_time = { 0, 0 };
static const struct timespec a_moment = { 0, 2000000 };
static const struct timespec a_second = { 1, 0 };

static double seconds_now(void)
{
    struct timespec now;

    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- What is asked of the pool --- */

TEST_TIMES(wait_while_slots_are_free_is_alloc, 2)
{
    cpool_t *pool = waiter_pool(_i == 0 ? 0 : CPOOL_CHECKED, CAPACITY);
    struct hold hold = hold_of(pool);

    for (int i = 0; i < CAPACITY; i++)
        hold_add(&hold, cpool_alloc_wait(pool, i % 2 == 0 ? NULL : &no_time));
    REQUIRE_EQUAL(support_stats(pool).waits, 0);
    REQUIRE(cpool_alloc(pool) == NULL);
    hold_end(&hold);
}

TEST_TIMES(wait_until_time_is_up_is_null, 2)
{
    cpool_t *pool = waiter_pool(_i == 0 ? 0 : CPOOL_CHECKED, CAPACITY);
    struct hold hold = hold_of(pool);

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
    hold_fini(&hold);
    support_destroy_whole(pool);
}

/* --- Being served --- */

static void release_to_waiter(unsigned flags, void (*body)(void *argument))
{
    struct release release = { waiter_pool(flags, CAPACITY), NULL, NULL };
    struct worker *other = worker_start();
    struct waiter waiter;
    struct hold hold;

    REQUIRE_EQUAL(cpool_cache_create(&release.cache, release.pool), 0);
    hold = hold_of(release.pool);
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
    hold_fini(&hold);
    support_destroy_whole(release.pool);
}

TEST_TIMES(wait_ends_with_the_slot_that_is_freed, 2 * WAITER_RELEASES)
{
    release_to_waiter(_i < WAITER_RELEASES ? 0 : CPOOL_CHECKED,
                      waiter_releases[_i % WAITER_RELEASES]);
}

/* The stray slot is below the bound that the thread's cache has seen, and the cache is flushed. */
TEST(free_of_a_removed_slot_keeps_no_thread_waiting)
{
    cpool_t *pool = waiter_pool(0, CAPACITY);
    struct hold hold = hold_of(pool);
    void *last;

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
    struct hold hold = hold_of(pool);

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
    hold_end(&hold);
}

/* A pool that may grow does, before anybody waits. */
TEST(wait_grows_the_pool_first)
{
    cpool_t *pool = SUPPORT_CREATE(WAITER_SLOT_SIZE, CAPACITY, .max_capacity = 3 * CAPACITY);
    struct hold hold = hold_of(pool);

    for (int i = 0; i < 3 * CAPACITY; i++)
        hold_add(&hold, cpool_alloc_wait(pool, NULL));
    REQUIRE_EQUAL(support_stats(pool).waits, 0);
    REQUIRE(cpool_alloc_wait(pool, &a_moment) == NULL);
    hold_end(&hold);
}

/* --- Times --- */

/* Times that are over, by the sum of their members. */
static const struct timespec odd_times[] = {
    { 0, 0 }, { 0, -5 }, { 1, -1000000000 }, { -1, 0 }, { -1, 999999999 }, { -3, 2000000000 },
    { -1000000000, 0 }, /* before the clock began */
};

struct attempt {
    cpool_t *pool;
    const struct timespec *timeout;
    _Atomic bool over;
};

static void *attempt(void *argument)
{
    struct attempt *attempt = argument;

    REQUIRE(cpool_alloc_wait(attempt->pool, attempt->timeout) == NULL);
    /* relaxed: tells that it is over, no more. */
    atomic_store_explicit(&attempt->over, true, memory_order_relaxed);
    return NULL;
}

TEST_TIMES(wait_for_no_positive_time_does_not_sleep, SUPPORT_LENGTH(odd_times))
{
    cpool_t *pool = waiter_pool(0, CAPACITY);
    struct attempt trial = { pool, &odd_times[_i], false };
    struct hold hold = hold_of(pool);
    pthread_t thread;

    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    thread = support_start(attempt, &trial);
    while (!atomic_load_explicit(&trial.over, memory_order_relaxed)) {
        REQUIRE_EQUAL(support_stats(pool).waits, 0);
        sched_yield();
    }
    support_join(thread);
    REQUIRE_EQUAL(support_stats(pool).waits, 0);
    hold_end(&hold);
}

/* Times of ten minutes that are no timespec elsewhere. */
static const struct timespec odd_minutes[] = {
    { 600, -1 }, { 599, 1000000000 }, { 598, 2000000000 }, { 602, -2000000000 },
};

static void serve_sleeper(const struct timespec *timeout)
{
    cpool_t *pool = waiter_pool(0, CAPACITY);
    struct waiter waiter;
    struct hold hold = hold_of(pool);

    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    waiter_start(&waiter, pool, timeout);
    waiter_begin(&waiter);
    waiter_await_sleep(pool, 1);
    hold_free(&hold, 1);
    REQUIRE(waiter_end(&waiter) != NULL);
    hold_add(&hold, waiter.slot);
    worker_stop(waiter.worker);
    hold_end(&hold);
}

TEST_TIMES(wait_for_sum_of_members_sleeps, SUPPORT_LENGTH(odd_minutes))
{
    serve_sleeper(&odd_minutes[_i]);
}

/* The longest times that there are do not come to an end before it. */
TEST_TIMES(wait_for_longest_time_is_served, 2)
{
    const time_t longest = sizeof(time_t) > 4 ? (time_t)INT64_MAX : INT32_MAX;
    const struct timespec times[] = { { INT32_MAX, 999999999 }, { longest, LONG_MAX } };

    serve_sleeper(&times[_i]);
}

/* --- Cancelled --- */

struct doomed {
    cpool_t *pool;
    const struct timespec *timeout;
    bool waits;
    void *slot;
};

/* Cancelled, but not in the middle of it.  A slot it was given is not lost. */
static void give_back(void *argument)
{
    struct doomed *doomed = argument;

    REQUIRE(!doomed->waits);
    cpool_free(doomed->pool, doomed->slot);
}

static void *wait_to_be_cancelled(void *argument)
{
    struct doomed *doomed = argument;

    pthread_cleanup_push(give_back, doomed);
    doomed->waits = true;
    doomed->slot = cpool_alloc_wait(doomed->pool, doomed->timeout);
    doomed->waits = false;
    pthread_testcancel();
    pthread_cleanup_pop(0);
    return NULL;
}

TEST_TIMES(wait_is_no_point_of_cancellation, 4)
{
    static const struct timespec long_time = { 1000000, 0 };
    cpool_t *pool = waiter_pool(_i < 2 ? 0 : CPOOL_CHECKED, CAPACITY);
    struct doomed doomed = { pool, _i % 2 == 0 ? NULL : &long_time, false, NULL };
    struct hold hold = hold_of(pool);

    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    for (uint64_t i = 1; i <= 20; i++) {
        pthread_t thread = support_start(wait_to_be_cancelled, &doomed);
        void *result;

        waiter_await_sleep(pool, i);
        REQUIRE_EQUAL(pthread_cancel(thread), 0);
        hold_free(&hold, 1);
        REQUIRE_EQUAL(pthread_join(thread, &result), 0);
        REQUIRE(result == PTHREAD_CANCELED);
        support_require_live(pool, CAPACITY - 1);
        REQUIRE_EQUAL(hold_take(&hold, 1), 1);
    }
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_whole(pool);
}
