/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_wait_ends.c - the ends of waiting that nobody hopes for: odd times, threads
 * that are cancelled, and threads that a fork leaves behind.
 *
 * Includes waiter.h.
 */
#include "waiter.h"

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>

enum { CAPACITY = 20 };

/*
 * ---- Times ---------------------------------------------------------------
 */

/* Times that are over, by the sum of their members. */
static const struct timespec odd_times[] = {
    { 0, 0 }, { 0, -5 }, { 1, -1000000000 }, { -1, 0 }, { -1, 999999999 }, { -3, 2000000000 },
    { -1000000000, 0 }, /* before the clock began */
};

enum { ODD_TIMES = sizeof(odd_times) / sizeof(odd_times[0]) };

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

TEST_TIMES(wait_for_no_positive_time_does_not_sleep, ODD_TIMES)
{
    cpool_t *pool = waiter_pool(0, CAPACITY);
    struct attempt trial = { pool, &odd_times[_i], false };
    struct hold hold;
    pthread_t thread;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    thread = support_start(attempt, &trial);
    while (!atomic_load_explicit(&trial.over, memory_order_relaxed)) {
        REQUIRE_EQUAL(support_stats(pool).waits, 0);
        sched_yield();
    }
    support_join(thread);
    REQUIRE_EQUAL(support_stats(pool).waits, 0);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}

/* Times of ten minutes that are no timespec elsewhere. */
static const struct timespec odd_minutes[] = {
    { 600, -1 }, { 599, 1000000000 }, { 598, 2000000000 }, { 602, -2000000000 },
};

enum { ODD_MINUTES = sizeof(odd_minutes) / sizeof(odd_minutes[0]) };

static void serve_sleeper(const struct timespec *timeout)
{
    cpool_t *pool = waiter_pool(0, CAPACITY);
    struct waiter waiter;
    struct hold hold;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    waiter_start(&waiter, pool, timeout);
    waiter_begin(&waiter);
    waiter_await_sleep(pool, 1);
    hold_free(&hold, 1);
    REQUIRE(waiter_end(&waiter) != NULL);
    hold_add(&hold, waiter.slot);
    worker_stop(waiter.worker);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}

TEST_TIMES(wait_for_sum_of_members_sleeps, ODD_MINUTES)
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

/*
 * ---- Cancelled and left behind -------------------------------------------
 */

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
    struct hold hold;

    hold_init(&hold, pool);
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
    support_require_obtainable(pool, 0);
    hold_fini(&hold);
    support_destroy_empty(pool);
}

static const struct timespec a_moment = { 0, 2000000 };

/* In the child no thread waits any more, so no slot is handed to a vanished thread. */
static void free_in_child(void *argument)
{
    struct hold *hold = argument;

    for (int i = 0; i < 10; i++) {
        hold_free(hold, 2);
        REQUIRE_EQUAL(hold_take(hold, SIZE_MAX), 2);
    }
    REQUIRE(cpool_alloc_wait(hold->pool, &a_moment) == NULL);
    hold_free_all(hold);
    support_require_obtainable(hold->pool, 0);
    support_destroy_empty(hold->pool);
}

TEST_TIMES(fork_leaves_waiting_threads_behind, 2)
{
    cpool_t *pool = waiter_pool(_i == 0 ? 0 : CPOOL_CHECKED, CAPACITY);
    struct waiter waiters[2];
    struct hold hold;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    for (int i = 0; i < 2; i++) {
        waiter_start(&waiters[i], pool, NULL);
        waiters[i].forget = true;
        waiter_begin(&waiters[i]);
        waiter_await_sleep(pool, (uint64_t)i + 1);
    }
    support_in_child(free_in_child, &hold);
    hold_free_all(&hold);
    for (int i = 0; i < 2; i++) {
        REQUIRE(waiter_end(&waiters[i]) != NULL);
        worker_stop(waiters[i].worker);
    }
    support_require_obtainable(pool, 0);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
