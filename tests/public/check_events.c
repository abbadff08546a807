/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_events.c - notices for event loops, and the end of all waiting.
 */
#include "waiter.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../../ext/retire/tests/domains.h"

enum { CAPACITY = 20, WAITERS = 3 };

static void count(cpool_t *pool, void *counter)
{
    (void)pool;
    atomic_fetch_add((_Atomic unsigned *)counter, 1u);
}

struct scene {
    cpool_t *pool;
    struct hold hold; /* all its slots */
    _Atomic unsigned notices;
};

static void scene_init(struct scene *scene)
{
    scene->pool = waiter_pool(0, CAPACITY);
    atomic_init(&scene->notices, 0);
    REQUIRE_EQUAL(cpool_set_ready(scene->pool, count, &scene->notices), 0);
    scene->hold = hold_of(scene->pool);
    REQUIRE_EQUAL(hold_take(&scene->hold, SIZE_MAX), CAPACITY);
}

/* The request itself brings them back, and its caller may hold a lock that the notice takes. */
TEST(request_that_finds_retired_slots_is_told_of_none)
{
    cpool_domain_t *domain;
    struct scene scene;
    void *slot;

    scene_init(&scene);
    REQUIRE_EQUAL(domain_create(&domain, 1, CAPACITY, 0), 0);
    for (int i = 0; i < 3; i++) {
        slot = scene.hold.slots[--scene.hold.count];
        REQUIRE_EQUAL(cpool_retire(reader_in(domain, 0), scene.pool, slot), 0);
    }
    slot = cpool_alloc_or_notify(scene.pool);
    REQUIRE(slot != NULL);
    REQUIRE_EQUAL(scene.notices, 0);
    cpool_free(scene.pool, slot);
    cpool_domain_destroy(domain);
    hold_end(&scene.hold);
}

TEST(notice_follows_the_free_after_null)
{
    struct scene scene;
    void *slot;

    scene_init(&scene);
    for (unsigned round = 1; round <= 3; round++) {
        REQUIRE(cpool_alloc_or_notify(scene.pool) == NULL);
        REQUIRE(cpool_alloc_or_notify(scene.pool) == NULL);
        REQUIRE_EQUAL(scene.notices, round - 1);
        hold_free(&scene.hold, 1);
        REQUIRE_EQUAL(scene.notices, round);
        hold_free(&scene.hold, 1); /* nobody has asked again */
        REQUIRE_EQUAL(scene.notices, round);
        while ((slot = cpool_alloc_or_notify(scene.pool)) != NULL)
            hold_add(&scene.hold, slot);
        cpool_set_ready(scene.pool, NULL, NULL); /* nobody to notify */
        hold_free(&scene.hold, 1);
        REQUIRE_EQUAL(scene.notices, round);
        cpool_set_ready(scene.pool, count, &scene.notices);
        hold_add(&scene.hold, cpool_alloc(scene.pool));
    }
    hold_end(&scene.hold);
}

/* Then the thread has looked for the last time, unless it is called. */
static const struct timespec until_it_starves = { 0, 20000000 };

/* The bell, which came first, is called, and a thread that sleeps gets the slot.  Returns the
 * number of notices, which is 0 if the thread was awake and came before the call. */
static unsigned pass_on_a_notice(void)
{
    struct scene scene;
    struct waiter waiter;
    unsigned notices;

    scene_init(&scene);
    REQUIRE(cpool_alloc_or_notify(scene.pool) == NULL);
    waiter_start(&waiter, scene.pool, NULL);
    waiter_begin(&waiter);
    waiter_await_sleep(scene.pool, 1);
    REQUIRE_EQUAL(nanosleep(&until_it_starves, NULL), 0);
    hold_free(&scene.hold, 1);
    REQUIRE(waiter_end(&waiter) != NULL);
    notices = scene.notices;
    hold_add(&scene.hold, waiter.slot);
    worker_stop(waiter.worker);
    hold_end(&scene.hold);
    return notices;
}

TEST(notice_is_passed_on_to_threads_that_wait)
{
    unsigned notices = 0;

    for (int i = 0; i < 20 && notices == 0; i++)
        notices = pass_on_a_notice();
    REQUIRE_EQUAL(notices, 1);
}

TEST(notice_comes_after_threads_that_waited_before)
{
    struct scene scene;
    struct waiter waiter;

    scene_init(&scene);
    waiter_start(&waiter, scene.pool, NULL);
    waiter_begin(&waiter);
    waiter_await_sleep(scene.pool, 1);
    REQUIRE(cpool_alloc_or_notify(scene.pool) == NULL);
    hold_free(&scene.hold, 1);
    REQUIRE(waiter_end(&waiter) != NULL);
    hold_add(&scene.hold, waiter.slot);
    worker_stop(waiter.worker);
    hold_free(&scene.hold, 1);
    REQUIRE_EQUAL(scene.notices, 1);
    hold_end(&scene.hold);
}

TEST(notice_follows_a_reset)
{
    struct scene scene;

    scene_init(&scene);
    REQUIRE(cpool_alloc_or_notify(scene.pool) == NULL);
    REQUIRE_EQUAL(cpool_reset(scene.pool), CAPACITY);
    REQUIRE_EQUAL(scene.notices, 1);
    scene.hold.count = 0; /* none of them is live */
    REQUIRE_EQUAL(cpool_reset(scene.pool), 0);
    REQUIRE_EQUAL(scene.notices, 1); /* nobody has asked again */
    hold_end(&scene.hold);
}

/* A call that had to look further for its slot leaves no bell behind, which it would ring
 * itself: the loop may hold a lock that its notice takes. */
TEST(one_question_gets_one_notice)
{
    cpool_t *pool = waiter_pool(0, CAPACITY);
    _Atomic unsigned notices = 0;
    struct hold hold;
    unsigned round;

    REQUIRE_EQUAL(cpool_set_ready(pool, count, &notices), 0);
    hold = hold_of(pool);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    for (round = 1; round <= 3; round++) {
        REQUIRE(cpool_alloc_or_notify(pool) == NULL);
        hold_free(&hold, 2);
        REQUIRE_EQUAL(notices, round);
        hold_add(&hold, cpool_alloc_or_notify(pool));
        REQUIRE_EQUAL(notices, round);
        hold_add(&hold, cpool_alloc_or_notify(pool));
        REQUIRE_EQUAL(notices, round);
    }
    hold_free_all(&hold);
    REQUIRE_EQUAL(notices, round - 1);
    hold_end(&hold);
}

static void free_one(void *scene)
{
    hold_free(&((struct scene *)scene)->hold, 1);
}

/* Wherever it is: in the depot, or first of all in another thread's cache. */
TEST(slot_that_is_there_needs_no_notice)
{
    struct worker *other = worker_start();
    struct scene scene;

    scene_init(&scene);
    worker_do(other, free_one, &scene);
    hold_add(&scene.hold, cpool_alloc_or_notify(scene.pool));
    worker_stop(other);
    hold_free(&scene.hold, 1);
    hold_add(&scene.hold, cpool_alloc_or_notify(scene.pool));
    hold_free(&scene.hold, 1);
    REQUIRE_EQUAL(scene.notices, 0);
    hold_end(&scene.hold);
}

TEST(no_pool_is_reported)
{
    support_capture_reports();
    REQUIRE_EQUAL(cpool_set_ready(NULL, count, NULL), CPOOL_EPOOL);
    REQUIRE_REPORT(CPOOL_EPOOL);
    REQUIRE(cpool_alloc_or_notify(NULL) == NULL);
    REQUIRE_REPORT(CPOOL_EPOOL);
    REQUIRE_EQUAL(cpool_wait_close(NULL), 0);
    REQUIRE_REPORT(CPOOL_EPOOL);
    REQUIRE_EQUAL(cpool_wait_cancel(NULL), 0);
    REQUIRE_REPORT(CPOOL_EPOOL);
    cpool_wait_open(NULL);
    REQUIRE_REPORT(CPOOL_EPOOL);
}

struct loop {
    cpool_t *pool;
    int wakeup[2];  /* a pipe: the loop sleeps in it */
    int handed[2];  /* a pipe: slots for the thread that frees */
    size_t rounds;
};

static void wake(cpool_t *pool, void *fd)
{
    const uint64_t one = 1;

    (void)pool;
    REQUIRE_EQUAL(write(*(int *)fd, &one, sizeof one), sizeof one);
}

static void free_what_comes(void *argument)
{
    struct loop *loop = argument;
    void *slot;

    for (size_t i = 0; i < loop->rounds; i++) {
        REQUIRE_EQUAL(read(loop->handed[0], &slot, sizeof slot), sizeof slot);
        cpool_free(loop->pool, slot);
    }
}

/* A loop that sleeps only in read() would sleep for ever after a notice that is lost. */
TEST(loop_that_sleeps_misses_no_slot)
{
    struct loop loop = { waiter_pool(0, 1), { 0, 0 }, { 0, 0 }, SUPPORT_COUNT(20000, 500) };
    struct worker *worker = worker_start();
    uint64_t notice;
    void *slot;

    REQUIRE_EQUAL(pipe(loop.wakeup), 0);
    REQUIRE_EQUAL(pipe(loop.handed), 0);
    REQUIRE_EQUAL(cpool_set_ready(loop.pool, wake, &loop.wakeup[1]), 0);
    worker_begin(worker, free_what_comes, &loop);
    for (size_t i = 0; i < loop.rounds; i++) {
        while ((slot = cpool_alloc_or_notify(loop.pool)) == NULL)
            REQUIRE_EQUAL(read(loop.wakeup[0], &notice, sizeof notice), sizeof notice);
        REQUIRE_EQUAL(write(loop.handed[1], &slot, sizeof slot), sizeof slot);
    }
    worker_await(worker);
    worker_stop(worker);
    support_destroy_empty(loop.pool);
    for (size_t i = 0; i < 2; i++) {
        close(loop.wakeup[i]);
        close(loop.handed[i]);
    }
}

TEST_TIMES(wait_close_and_cancel_let_waiters_return_null, 2)
{
    struct waiter waiters[WAITERS];
    struct scene scene;

    scene_init(&scene);
    for (size_t i = 0; i < WAITERS; i++) {
        waiter_start(&waiters[i], scene.pool, NULL);
        waiter_begin(&waiters[i]);
    }
    waiter_await_sleep(scene.pool, WAITERS);
    REQUIRE(cpool_alloc_or_notify(scene.pool) == NULL);
    REQUIRE_EQUAL(_i == 0 ? cpool_wait_close(scene.pool) : cpool_wait_cancel(scene.pool), WAITERS);
    for (size_t i = 0; i < WAITERS; i++) {
        REQUIRE(waiter_end(&waiters[i]) == NULL);
        worker_stop(waiters[i].worker);
    }
    REQUIRE_EQUAL(scene.notices, 0);
    hold_free(&scene.hold, 1);
    REQUIRE_EQUAL(scene.notices, 1); /* the bell still waits */
    hold_end(&scene.hold);
}

TEST(wait_close_keeps_later_threads_from_waiting)
{
    struct scene scene;
    struct waiter waiter;

    scene_init(&scene);
    REQUIRE_EQUAL(cpool_wait_close(scene.pool), 0);
    REQUIRE_EQUAL(cpool_wait_cancel(scene.pool), 0); /* which does not open it again */
    REQUIRE(cpool_alloc_wait(scene.pool, NULL) == NULL);
    hold_free(&scene.hold, 1);
    hold_add(&scene.hold, cpool_alloc_wait(scene.pool, NULL));
    REQUIRE_EQUAL(support_stats(scene.pool).waits, 0);
    cpool_wait_open(scene.pool);
    waiter_start(&waiter, scene.pool, NULL);
    waiter_begin(&waiter);
    waiter_await_sleep(scene.pool, 1);
    hold_free(&scene.hold, 1);
    REQUIRE(waiter_end(&waiter) != NULL);
    hold_add(&scene.hold, waiter.slot);
    worker_stop(waiter.worker);
    hold_end(&scene.hold);
}
