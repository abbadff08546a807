/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_barrier.c - the system takes its barrier away after the first pool was made.  A
 * thread that needs it says so and ends the process, since others rely on it already.
 *
 * Includes waiter.h.  The C library's syscall is defined here.
 */
#include "waiter.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
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

/* Allowed, it does nothing: only the barrier's answer matters here. */
long syscall(long number, ...)
{
    if (number == SYS_membarrier &&
        !atomic_load_explicit(&refusing, memory_order_relaxed)) /* a switch, nothing else */
        return 0;
    errno = EPERM;
    return -1;
}

static void refuse(void)
{
    atomic_store_explicit(&refusing, true, memory_order_relaxed); /* as above */
}

static const struct timespec a_moment = { 0, 1000000 };

static void wait_in_vain(void *pool)
{
    refuse();
    cpool_free(pool, cpool_alloc_wait(pool, &a_moment));
}

static void require_message(void (*body)(void *argument), void *argument)
{
    struct support_outcome outcome;

    support_require_abort(body, argument, &outcome);
    REQUIRE(strstr(outcome.text, "refuses membarrier") != NULL);
}

TEST(wait_after_loss_is_fatal)
{
    cpool_t *pool = waiter_pool(0, 1);
    void *slot = cpool_alloc(pool);

    require_message(wait_in_vain, pool);
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}

static void take_one_and_give_it_back(void *pool)
{
    cpool_free(pool, cpool_alloc(pool));
}

/* The slot is in the other thread's cache. */
static void recall_after_loss(void *pool)
{
    worker_do(worker_start(), take_one_and_give_it_back, pool);
    refuse();
    cpool_free(pool, cpool_alloc(pool));
}

TEST(recall_after_loss_is_fatal)
{
    cpool_t *pool = growth_pool(16, CPOOL_EXACT, 1, 1);

    require_message(recall_after_loss, pool);
    support_destroy_empty(pool);
}

/* Operations that need no barrier go on. */
TEST(use_after_loss_without_need_goes_on)
{
    cpool_t *pool = waiter_pool(0, 10);

    refuse();
    for (int i = 0; i < 100; i++)
        take_one_and_give_it_back(pool);
    support_destroy_empty(pool);
}

#else

int main(void)
{
    return support_skip_all("barrier", "no way here to refuse the barrier");
}

#endif
