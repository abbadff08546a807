/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_typed_waitable.c - typed waitable pools: their bound, waiters and notices that the
 * functions of the type call, and the end of a pool after a wait for its last slot.
 *
 * Includes typed_jobs.h.
 */
#define JOBS_DECLARE CPOOL_DECLARE_WAITABLE
#define JOBS_DEFINE CPOOL_DEFINE_WAITABLE
#include "typed_jobs.h"

#include <sched.h>

#include <cpool/events.h>

enum { LIVES = 200 };

/* With one slot. */
#if defined(__GNUC__)
CPOOL_DEFINE_WAITABLE_INLINE(ones, struct job, .capacity = 1);
#else
CPOOL_DECLARE_WAITABLE(ones, struct job);
CPOOL_DEFINE_WAITABLE(ones, struct job, .capacity = 1);
#endif

/* Its functions do not look for waiters. */
CPOOL_DECLARE_EXACT(plains, struct job);
CPOOL_DEFINE_EXACT(plains, struct job, .capacity = 1, .flags = CPOOL_WAITABLE);

TEST(all_of_the_capacity_is_served_and_no_more)
{
    jobs_require_bound();
}

/* Waits for a slot of any pool of one, and gives it back. */
static void *wait_once(void *pool)
{
    void *slot = cpool_alloc_wait(pool, NULL);

    REQUIRE(slot != NULL);
    cpool_free(pool, slot);
    return NULL;
}

static void await_sleeper(cpool_t *pool)
{
    while (support_stats(pool).waits == 0)
        sched_yield();
}

TEST(thread_that_sleeps_is_woken_by_a_free)
{
    for (int round = 0; round < 3; round++) {
        struct job *job;
        pthread_t thread;

        for (int i = 0; i < 10; i++) /* the cache has a magazine */
            ones_free(ones_alloc());
        job = ones_alloc();
        REQUIRE(job != NULL);
        thread = support_start(wait_once, ones_pool());
        await_sleeper(ones_pool());
        ones_free(job);
        support_join(thread);
        REQUIRE_EQUAL(ones_close(), CPOOL_OK);
    }
}

static void count_notice(cpool_t *pool, void *notices)
{
    (void)pool;
    ++*(int *)notices;
}

static struct job *take_one(cpool_t *pool)
{
    return pool == ones_pool() ? ones_alloc() : plains_alloc();
}

static void give_by_handle(cpool_t *pool, struct job *job)
{
    cpool_free(pool, job);
}

static void give_one(cpool_t *pool, struct job *job)
{
    if (pool == ones_pool())
        ones_free(job);
    else
        plains_free(job);
}

/* A sleeping thread looks again by itself when it starves, and a notice does not.  The slot lies
 * in the cache of the thread that frees it, which has a magazine. */
TEST_TIMES(notice_follows_a_free, 4)
{
    static void (*const gives[])(cpool_t *, struct job *) = { give_one, give_by_handle };
    cpool_t *pool = _i < 2 ? ones_pool() : plains_pool();
    struct job *job;
    int notices = 0;

    for (int i = 0; i < 10; i++)
        give_one(pool, take_one(pool));
    job = take_one(pool);
    REQUIRE_EQUAL(cpool_set_ready(pool, count_notice, &notices), CPOOL_OK);
    REQUIRE(cpool_alloc_or_notify(pool) == NULL);
    REQUIRE_EQUAL(notices, 0);
    gives[_i % 2](pool, job);
    REQUIRE_EQUAL(notices, 1);
    give_one(pool, take_one(pool));
    REQUIRE_EQUAL(notices, 1);
    REQUIRE_EQUAL(cpool_destroy(pool), CPOOL_OK);
}

static void look_in_child(void *unused)
{
    (void)unused;
    REQUIRE_EQUAL(ones_typed_.asked, 0);
}

TEST(request_ends_in_the_child_of_a_fork)
{
    REQUIRE(ones_alloc() != NULL);
    REQUIRE(cpool_alloc_or_notify(ones_pool()) == NULL);
    REQUIRE(ones_typed_.asked != 0);
    support_in_child(look_in_child, NULL);
    REQUIRE_EQUAL(cpool_reset(ones_pool()), 1);
    REQUIRE_EQUAL(ones_close(), CPOOL_OK);
}

TEST(request_ends_with_the_pool)
{
    struct job *job = ones_alloc();

    REQUIRE(cpool_alloc_or_notify(ones_pool()) == NULL);
    REQUIRE(ones_typed_.asked != 0);
    REQUIRE_EQUAL(cpool_reset(ones_pool()), 1);
    (void)job;
    job = ones_alloc();
    REQUIRE(cpool_alloc_or_notify(ones_pool()) == NULL);
    support_capture_reports();
    REQUIRE_EQUAL(ones_close(), CPOOL_ELIVE);
    REQUIRE_EQUAL(ones_typed_.asked, 0);
}

/* The thread that gets the last slot closes the pool, while the one that freed it may be about to
 * look for waiters. */
static void *wait_and_close(void *unused)
{
    struct job *job = cpool_alloc_wait(ones_pool(), NULL);

    (void)unused;
    REQUIRE(job != NULL);
    ones_free(job);
    REQUIRE_EQUAL(ones_close(), CPOOL_OK);
    return NULL;
}

TEST(thread_that_waited_for_the_last_slot_closes_the_pool)
{
    for (int i = 0; i < LIVES; i++) {
        struct job *job = ones_alloc();
        pthread_t thread;

        REQUIRE(job != NULL);
        ones_free(job);
        job = ones_alloc();
        thread = support_start(wait_and_close, NULL);
        if (i % 2 == 0)
            await_sleeper(ones_pool());
        ones_free(job);
        support_join(thread);
    }
}
