/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_destroy.c - drain, then destroy: a thread that gives the last slot back stops at
 * every step of its free, and another one that has obtained the slot destroys the pool
 * meanwhile, or resets it first, as object pools do.  A thread that gives a slot back by the
 * short way calls a waiter that has taken it already.
 *
 * Includes steps.h, and pool_impl.h to make allocs impatient.  Memory that is touched
 * after the end of the pool is no longer mapped.
 */
#include "steps.h" /* first: it says which system interfaces are wanted */

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "cache/mark.h"
#include "inside.h"

enum { CAPACITY = 2, ROUNDS = 2 };

/* How the last slot is given back. */
struct giver {
    cpool_t *pool;
    cpool_cache_t *cache;
    void *slot;
};

static void give_by_free(void *argument)
{
    struct giver *giver = argument;

    cpool_free(giver->pool, giver->slot);
}

static void give_by_depot_free(void *argument)
{
    struct giver *giver = argument;

    cpool_depot_free(giver->pool, giver->slot);
}

static void give_by_bulk(void *argument)
{
    struct giver *giver = argument;

    cpool_free_bulk(giver->pool, &giver->slot, 1);
}

static void give_by_cache(void *argument)
{
    struct giver *giver = argument;

    cpool_cache_free(giver->cache, giver->slot);
}

static void (*const gives[])(void *argument) = {
    give_by_free, give_by_depot_free, give_by_bulk, give_by_cache,
};

enum { GIVES = sizeof gives / sizeof gives[0] };

static void take(void *argument)
{
    struct giver *giver = argument;

    giver->slot = cpool_alloc(giver->pool);
    REQUIRE(giver->slot != NULL);
}

/* How it is obtained.  In a plain pool another slot may be had sooner. */
struct drain {
    cpool_t *pool;
    const void *last;
    void *(*alloc)(cpool_t *pool);
    bool resets;
    _Atomic bool over;
};

static void *alloc_wait(cpool_t *pool)
{
    return cpool_alloc_wait(pool, NULL);
}

static void *alloc(cpool_t *pool)
{
    return cpool_alloc(pool);
}

static void drain_and_destroy(void *argument)
{
    struct drain *drain = argument;

    while (drain->alloc(drain->pool) != drain->last)
        sched_yield();
    if (drain->resets)
        REQUIRE_EQUAL(cpool_reset(drain->pool), CAPACITY);
    REQUIRE_EQUAL(cpool_destroy(drain->pool), drain->resets ? 0 : CPOOL_ELIVE);
    atomic_store_explicit(&drain->over, true, memory_order_relaxed); /* a hint, no more */
}

/* Time for a pool to be destroyed that should not be. */
static void dally(const struct drain *drain)
{
    const struct timespec a_while = { 0, 500000 };

    for (int i = 0; i < 10 && !atomic_load_explicit(&drain->over, memory_order_relaxed); i++)
        REQUIRE_EQUAL(nanosleep(&a_while, NULL), 0);
}

static bool destroy_at(unsigned flags, int give, bool resets, struct worker **workers, size_t nth)
{
    cpool_t *pool = steps_pool(flags, CAPACITY, 0, ROUNDS);
    struct giver giver = { pool, NULL, NULL };
    struct drain drain = { pool, NULL, flags == 0 ? cpool_depot_alloc : alloc, resets,
                           false };
    struct steps_stop stop;
    bool stopped;

    inside(pool)->stall_limit = 1;
    if ((flags & CPOOL_WAITABLE) != 0)
        drain.alloc = alloc_wait;
    REQUIRE_EQUAL(cpool_cache_create(&giver.cache, pool), 0);
    worker_do(workers[0], take, &giver);
    drain.last = giver.slot;
    while (support_stats(pool).live < CAPACITY)
        REQUIRE(cpool_depot_alloc(pool) != NULL);
    stopped = steps_run(&stop, workers[0], NULL, nth, gives[give], &giver);
    worker_begin(workers[1], drain_and_destroy, &drain);
    dally(&drain);
    steps_go_on(&stop);
    worker_await(workers[1]);
    return stopped;
}

static void sweep(unsigned flags, int give, bool resets)
{
    struct worker *workers[2] = { worker_start(), worker_start() };
    size_t nth = 1;

    while (destroy_at(flags, give, resets, workers, nth))
        nth++;
    REQUIRE(nth > 1);
    for (int i = 0; i < 2; i++)
        worker_stop(workers[i]);
}

TEST_TIMES(destroy_of_waitable_pool_awaits_a_free_that_was_overtaken, GIVES)
{
    sweep(CPOOL_WAITABLE, _i, false);
}

TEST_TIMES(destroy_of_exact_pool_awaits_a_free_that_was_overtaken, GIVES)
{
    sweep(CPOOL_EXACT, _i, false);
}

TEST(destroy_of_plain_pool_awaits_a_free_that_was_overtaken)
{
    sweep(0, 1, false);
}

TEST_TIMES(reset_awaits_a_free_that_was_overtaken, 2 * GIVES)
{
    sweep(_i < GIVES ? CPOOL_WAITABLE : CPOOL_EXACT, _i % GIVES, true);
}

/*
 * ---- A free that calls after its slot has been taken ---------------------
 */

struct caller {
    struct giver giver;
    void *slot; /* the waiter's */
    _Atomic bool over;
};

static void wait_for_slot(void *argument)
{
    struct caller *caller = argument;

    caller->slot = cpool_alloc_wait(caller->giver.pool, NULL);
}

static void destroy(void *argument)
{
    struct caller *caller = argument;

    REQUIRE_EQUAL(cpool_destroy(caller->giver.pool), CPOOL_ELIVE);
    atomic_store_explicit(&caller->over, true, memory_order_release); /* see await_end */
}

/* Returns true if the pool was destroyed within a while. */
static bool await_end(const struct caller *caller)
{
    const struct timespec a_while = { 0, 500000 };

    for (int i = 0; i < 10; i++) {
        if (atomic_load_explicit(&caller->over, memory_order_acquire)) /* pairs with destroy */
            return true;
        REQUIRE_EQUAL(nanosleep(&a_while, NULL), 0);
    }
    return false;
}

/* The waiter comes between the free's two looks at the word, and has left with the slot before
 * the free says that it calls.  The pool's end, which has found all at rest, sees that it calls. */
TEST(destroy_awaits_a_call_that_begins_behind_its_look)
{
    struct worker *workers[2] = { worker_start(), worker_start() };
    struct caller caller = { { steps_pool(CPOOL_WAITABLE, CAPACITY, 0, ROUNDS), NULL, NULL },
                             NULL, false };
    cpool_t *pool = caller.giver.pool;
    struct steps_stop frees;
    struct steps_stop waits;

    if (!cpi_mark_has_barrier)
        SKIP("no barrier in all threads: frees take the long way");
    worker_do(workers[0], take, &caller.giver);
    while (support_stats(pool).live < CAPACITY)
        REQUIRE(cpool_depot_alloc(pool) != NULL);
    REQUIRE(steps_run(&frees, workers[0], "cpi_mark_begin_push", 1, give_by_free, &caller.giver));
    REQUIRE(steps_run(&waits, workers[1], "cpi_mark_barrier", 1, wait_for_slot, &caller));
    REQUIRE(steps_go_on_to(&frees, STEPS_LOCK, 1));
    steps_go_on(&waits);
    REQUIRE(caller.slot == caller.giver.slot);
    REQUIRE(steps_run(&waits, workers[1], STEPS_LOCK, 1, destroy, &caller));
    REQUIRE(steps_go_on_to(&frees, "cpi_mark_begin_pop", 1));
    steps_resume(&waits);
    REQUIRE(!await_end(&caller));
    steps_go_on(&frees);
    steps_go_on(&waits);
    for (int i = 0; i < 2; i++)
        worker_stop(workers[i]);
}
