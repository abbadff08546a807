/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waiter.c - shared by the tests of waiting (waiter.h).
 */
#include "waiter.h"

#include <sched.h>

cpool_t *waiter_pool(unsigned flags, size_t capacity)
{
    return support_create_kind(WAITER_SLOT_SIZE, capacity, flags);
}

void waiter_await_sleep(const cpool_t *pool, uint64_t waits)
{
    while (support_stats(pool).waits < waits)
        sched_yield();
}

/* --- Who waits --- */

/* For a waiter that is never woken.  Woken ones do not wait for it. */
static const struct timespec long_enough = {60, 0};

void *waiter_wait(cpool_t *pool)
{
    struct timespec before;
    struct timespec after;
    void *slot;

    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &before), 0);
    slot = cpool_alloc_wait(pool, &long_enough);
    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &after), 0);
    REQUIRE(after.tv_sec - before.tv_sec < long_enough.tv_sec);
    return slot;
}

static void wait_for_slot(void *argument)
{
    struct waiter *waiter = argument;

    waiter->slot = cpool_alloc_wait(waiter->pool, waiter->timeout);
    if (waiter->forget)
        cpool_free(waiter->pool, waiter->slot);
    /* relaxed: tells that it is over, no more. */
    atomic_store_explicit(&waiter->done, true, memory_order_relaxed);
}

void waiter_start(struct waiter *waiter, cpool_t *pool, const struct timespec *timeout)
{
    waiter->worker = worker_start();
    waiter->pool = pool;
    waiter->timeout = timeout;
    waiter->slot = NULL;
    waiter->forget = false;
    atomic_init(&waiter->done, false);
}

void waiter_begin(struct waiter *waiter)
{
    atomic_store_explicit(&waiter->done, false, memory_order_relaxed); /* before it begins */
    worker_begin(waiter->worker, wait_for_slot, waiter);
}

void waiter_await_sleep_or_end(struct waiter *waiter, uint64_t waits)
{
    while (support_stats(waiter->pool).waits < waits &&
           !atomic_load_explicit(&waiter->done, memory_order_relaxed))
        sched_yield();
}

void *waiter_end(struct waiter *waiter)
{
    worker_await(waiter->worker);
    return waiter->slot;
}

/* --- How the slot comes that ends the waiting --- */

static void by_free(void *argument)
{
    struct release *release = argument;

    cpool_free(release->pool, release->slot);
}

static void by_depot_free(void *argument)
{
    struct release *release = argument;

    cpool_free_uncached(release->pool, release->slot);
}

static void by_bulk(void *argument)
{
    struct release *release = argument;

    cpool_free_bulk(release->pool, &release->slot, 1);
}

static void by_cache(void *argument)
{
    struct release *release = argument;

    cpool_cache_free(release->cache, release->slot);
}

void (*const waiter_releases[WAITER_RELEASES])(void *release) = {
    by_free,
    by_depot_free,
    by_bulk,
    by_cache,
};
