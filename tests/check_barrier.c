/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_barrier.c - the system takes its barrier away after the first pool was
 * made: exact pools do without robbing, and who waits is not forgotten.
 *
 * Includes waiter.h, and pool_impl.h to give a slot back past those who are asked
 * whether somebody waits.  The C library's syscall is defined here, which the
 * library calls for nothing but the barrier.
 */
#include "waiter.h"

#include "pool_impl.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

/* ThreadSanitizer's build has no barrier to lose. */
#if defined(SYS_membarrier) && !SUPPORT_SANITIZED
#define CAN_REFUSE 1
#else
#define CAN_REFUSE 0
#endif

#if CAN_REFUSE

static _Atomic bool refusing;
static _Atomic size_t refused;

/* Allowed, it does nothing: only the barrier's answer matters here. */
long syscall(long number, ...)
{
    if (number == SYS_membarrier &&
        !atomic_load_explicit(&refusing, memory_order_relaxed)) /* a switch, nothing else */
        return 0;
    atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed); /* counts by itself */
    errno = EPERM;
    return -1;
}

static void refuse(void)
{
    atomic_store_explicit(&refusing, true, memory_order_relaxed); /* as above */
}

static size_t times_refused(void)
{
    return atomic_load_explicit(&refused, memory_order_relaxed); /* as above */
}

/* A free of a thread that saw nobody waiting. */
static void free_unasked(cpool_t *pool, void *slot)
{
    struct cpi_dealings dealings;

    cpi_roster_visit(&pool->roster, &dealings);
    REQUIRE(cpi_depot_free_slot(&pool->depot, &dealings, slot));
    cpi_roster_account(&pool->roster, &dealings);
}

START_TEST(wait_after_loss_finds_what_was_freed_unasked)
{
    const struct timespec long_enough = { 60, 0 };
    const struct timespec *timeout = _i == 0 ? NULL : &long_enough;
    cpool_t *pool = waiter_pool(0, 1);
    void *slot = cpool_alloc(pool);
    struct waiter waiter = { 0 };

    refuse();
    waiter_start(&waiter, pool, timeout);
    waiter_begin(&waiter);
    waiter_await_sleep(pool, 1);
    free_unasked(pool, slot);
    REQUIRE(waiter_end(&waiter) == slot);
    REQUIRE(times_refused() > 0);
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}
END_TEST

/* Who waits could not take it out of the other's cache. */
START_TEST(free_after_loss_hands_over)
{
    const struct timespec long_enough = { 20, 0 };
    cpool_t *pool = waiter_pool(0, 1);
    void *slot = cpool_alloc(pool);
    struct waiter waiter = { 0 };

    pool->waiters.direct = false;
    pool->waiters.patience.tv_sec = 1000;
    refuse();
    waiter_start(&waiter, pool, &long_enough);
    waiter_begin(&waiter);
    waiter_await_sleep(pool, 1);
    cpool_free(pool, slot);
    REQUIRE(waiter_end(&waiter) == slot);
    REQUIRE(times_refused() > 0);
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(wait_after_loss_ends_when_the_time_is_up)
{
    const struct timespec moment = { 0, 25000000 }; /* a few looks */
    cpool_t *pool = waiter_pool(0, 1);
    void *slot = cpool_alloc(pool);

    refuse();
    REQUIRE(cpool_alloc_wait(pool, &moment) == NULL);
    cpool_free(pool, slot);
    REQUIRE(cpool_alloc_wait(pool, &moment) != NULL);
    cpool_destroy(pool);
}
END_TEST

static void take_one_and_give_it_back(void *pool)
{
    cpool_free(pool, cpool_alloc(pool));
}

START_TEST(alloc_after_loss_robs_nobody)
{
    cpool_t *pool = growth_pool(16, CPOOL_EXACT, 1, 1);
    struct worker *worker = worker_start();

    worker_do(worker, take_one_and_give_it_back, pool);
    refuse();
    REQUIRE(cpool_alloc(pool) == NULL);
    REQUIRE(times_refused() > 0);
    worker_do(worker, take_one_and_give_it_back, pool);
    worker_stop(worker);
    REQUIRE(cpool_destroy(pool) == 0);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(wait_after_loss_finds_what_was_freed_unasked, 2),
        ONCE(free_after_loss_hands_over),
        ONCE(wait_after_loss_ends_when_the_time_is_up),
        ONCE(alloc_after_loss_robs_nobody),
    };

    return SUPPORT_RUN("barrier", tests);
}

#else

int main(void)
{
    return 77; /* skipped: nothing to refuse here */
}

#endif
