/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_destroy.c - drain, then destroy: a thread that gives all slots back stops at every
 * step of its frees, and another one that has obtained them destroys the pool meanwhile, or
 * resets it first, as object pools do.
 *
 * Memory that is touched after the end of the pool is no longer mapped.
 */
#include "inline_steps.h" /* first */

#include "steps.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

/* The last of all slots meets a full magazine. */
enum { ROUNDS = 2, CAPACITY = ROUNDS + 1 };

/* How the slots are given back. */
struct giver {
    cpool_t *pool;
    cpool_cache_t *cache;
    void (*give)(struct giver *giver, void **slot);
    void *slots[CAPACITY];
};

static void give_by_free(struct giver *giver, void **slot)
{
    cpool_free(giver->pool, *slot);
}

static void give_by_depot_free(struct giver *giver, void **slot)
{
    cpool_free_uncached(giver->pool, *slot);
}

static void give_by_bulk(struct giver *giver, void **slot)
{
    cpool_free_bulk(giver->pool, slot, 1);
}

static void give_by_cache(struct giver *giver, void **slot)
{
    cpool_cache_free(giver->cache, *slot);
}

static void (*const gives[])(struct giver *giver, void **slot) = {
    give_by_free, give_by_depot_free, give_by_bulk, give_by_cache,
};

static void take_all(void *argument)
{
    struct giver *giver = argument;

    for (int i = 0; i < CAPACITY; i++)
        REQUIRE((giver->slots[i] = cpool_alloc(giver->pool)) != NULL);
}

static void give_all(void *argument)
{
    struct giver *giver = argument;

    for (int i = 0; i < CAPACITY; i++)
        giver->give(giver, &giver->slots[i]);
}

/* How they are obtained. */
struct drain {
    cpool_t *pool;
    void *(*alloc)(cpool_t *pool);
    bool resets;
    _Atomic bool over; /* the first end of the pool is */
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

    for (int count = 0; count < CAPACITY;) {
        if (drain->alloc(drain->pool) != NULL)
            count++;
        else
            sched_yield();
    }
    if (drain->resets)
        REQUIRE_EQUAL(cpool_reset(drain->pool), CAPACITY);
    else
        REQUIRE_EQUAL(cpool_destroy(drain->pool), CPOOL_ELIVE);
    atomic_store_explicit(&drain->over, true, memory_order_relaxed); /* a hint, no more */
    if (drain->resets)
        support_destroy_empty(drain->pool);
}

/* Time for a pool to be ended that should not be, as long as somebody stands still inside. */
static void dally(const struct drain *drain)
{
    const struct timespec a_while = { 0, 500000 };

    for (int i = 0; i < 10; i++) {
        REQUIRE_EQUAL(nanosleep(&a_while, NULL), 0);
        REQUIRE(!atomic_load_explicit(&drain->over, memory_order_relaxed));
    }
}

static bool destroy_at(void *(*alloc)(cpool_t *pool), int give, bool resets,
                       struct worker **workers, size_t nth)
{
    cpool_t *pool = steps_pool(0, CAPACITY, 0, ROUNDS);
    struct giver giver = { pool, NULL, gives[give], { NULL } };
    struct drain drain = { pool, alloc, resets, false };
    struct steps_stop stop;
    bool stopped;

    REQUIRE_EQUAL(cpool_cache_create(&giver.cache, pool), 0);
    worker_do(workers[0], take_all, &giver);
    stopped = steps_run(&stop, workers[0], NULL, nth, give_all, &giver);
    worker_begin(workers[1], drain_and_destroy, &drain);
    if (stopped)
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
    workers_stop(workers, 2);
}

static void *(*const allocs[])(cpool_t *pool) = { alloc_now, alloc_wait };

TEST_TIMES(destroy_awaits_a_free_that_was_overtaken, 2 * SUPPORT_LENGTH(gives))
{
    sweep(allocs[_i / SUPPORT_LENGTH(gives)], _i % SUPPORT_LENGTH(gives), false);
}

TEST_TIMES(reset_awaits_a_free_that_was_overtaken, 2 * SUPPORT_LENGTH(gives))
{
    sweep(allocs[_i / SUPPORT_LENGTH(gives)], _i % SUPPORT_LENGTH(gives), true);
}
