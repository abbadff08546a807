/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_wait_fair.c - threads that have waited for long are served in the order in
 * which they came, and nobody overtakes them.
 */
#include "waiter.h"

#include "inside_wait.h"

enum { CAPACITY = 20,
       WAITERS = 6 };

static const struct timespec a_moment = {0, 2000000};

/* Those that gave up in the meantime are passed over. */
static void require_order(cpool_t *pool, struct waiter *waiters, size_t count, struct hold *hold)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t waits = support_stats(pool).waits;

        waiters[i].timeout = i % 3 == 1 ? &a_moment : NULL;
        waiter_begin(&waiters[i]);
        waiter_await_sleep_or_end(&waiters[i], waits + 1);
    }
    for (size_t i = 1; i < count; i += 3)
        REQUIRE(waiter_end(&waiters[i]) == NULL);
    for (size_t i = 0; i < count; i++) {
        void *slot;

        if (i % 3 == 1)
            continue;
        slot = hold->slots[hold->count - 1];
        inside_await_hunger(pool);
        hold_free(hold, 1);
        REQUIRE(waiter_end(&waiters[i]) == slot);
        hold_add(hold, slot);
    }
}

TEST_TIMES(waiting_threads_are_served_in_order, 2)
{
    cpool_t *pool = waiter_pool(_i == 0 ? 0 : CPOOL_CHECKED, CAPACITY);
    struct waiter waiters[WAITERS];
    struct hold hold = hold_of(pool);

    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    for (int i = 0; i < WAITERS; i++)
        waiter_start(&waiters[i], pool, NULL);
    for (size_t round = 0; round < SUPPORT_COUNT(50u, 10u); round++)
        require_order(pool, waiters, 1 + round % WAITERS, &hold);
    hold_free_all(&hold);
    for (int i = 0; i < WAITERS; i++)
        worker_stop(waiters[i].worker);
    hold_fini(&hold);
    support_destroy_whole(pool);
}

/* A thread that comes later does not get what is freed while a waiter starves. */
TEST(waiting_thread_is_not_overtaken)
{
    cpool_t *pool = waiter_pool(0, CAPACITY);
    struct waiter waiter;
    struct hold hold = hold_of(pool);

    waiter_start(&waiter, pool, NULL);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    for (unsigned i = 1; i <= 100; i++) {
        waiter_begin(&waiter);
        waiter_await_sleep(pool, i);
        inside_await_hunger(pool);
        hold_free(&hold, 1);
        REQUIRE(cpool_alloc(pool) == NULL);
        hold_add(&hold, waiter_end(&waiter));
        /* And when nobody starves any more, slots go the ordinary way again. */
        REQUIRE_EQUAL(cpi_queue_glance(&inside(pool)->waiters.queue), 0);
    }
    hold_free_all(&hold);
    worker_stop(waiter.worker);
    hold_end(&hold);
}

/* A waiter that is awake finds a slot itself, and one that was handed to it would be lost. */
TEST(slot_is_handed_to_the_first_that_sleeps)
{
    struct cpi_waiter waiters[3];
    struct cpi_queue queue;
    char slot;

    cpi_queue_init(&queue);
    for (int i = 0; i < 3; i++)
        cpi_queue_join(&queue, &waiters[i], 0);
    waiters[1].asleep = waiters[2].asleep = true;
    REQUIRE(cpi_queue_serve(&queue, &slot) == &waiters[1]);
    REQUIRE(waiters[1].slot == &slot && waiters[0].slot == NULL && waiters[2].slot == NULL);
    REQUIRE(queue.first == &waiters[0] && queue.last == &waiters[2]);
    waiters[2].asleep = false;
    REQUIRE(cpi_queue_serve(&queue, &slot) == NULL);
}
