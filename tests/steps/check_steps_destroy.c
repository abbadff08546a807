/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_destroy.c - drain, then destroy: a thread that gives the last slot back stops at
 * every step of its free, and another one that has obtained the slot destroys the pool
 * meanwhile, or resets it first, as object pools do.
 *
 * Includes steps.h.  Memory that is touched after the end of the pool is no longer mapped.
 */
#include "inline_steps.h" /* first */

#include "steps.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>


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

/* How it is obtained. */
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

static void *alloc_now(cpool_t *pool)
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

static bool destroy_at(void *(*alloc)(cpool_t *pool), int give, bool resets,
                       struct worker **workers, size_t nth)
{
    cpool_t *pool = steps_pool(0, CAPACITY, 0, ROUNDS);
    struct giver giver = { pool, NULL, NULL };
    struct drain drain = { pool, NULL, alloc, resets, false };
    struct steps_stop stop;
    bool stopped;

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

static void sweep(void *(*alloc)(cpool_t *pool), int give, bool resets)
{
    struct worker *workers[2] = { worker_start(), worker_start() };
    size_t nth = 1;

    while (destroy_at(alloc, give, resets, workers, nth))
        nth++;
    REQUIRE(nth > 1);
    for (int i = 0; i < 2; i++)
        worker_stop(workers[i]);
}

static void *(*const allocs[])(cpool_t *pool) = { alloc_now, alloc_wait };

TEST_TIMES(destroy_awaits_a_free_that_was_overtaken, 2 * GIVES)
{
    sweep(allocs[_i / GIVES], _i % GIVES, false);
}

TEST_TIMES(reset_awaits_a_free_that_was_overtaken, 2 * GIVES)
{
    sweep(allocs[_i / GIVES], _i % GIVES, true);
}
