/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * meeting.c - one thread waits, one gives (meeting.h).
 */
#include "meeting.h"

#include <sched.h>

#include "inside_wait.h"

enum { CAPACITY = 4, ROUNDS = 2 };

/* --- How a slot comes --- */

static void give_by_free(void *argument)
{
    struct giver *giver = argument;

    hold_free(&giver->hold, 1);
}

static void give_by_depot_free(void *argument)
{
    struct giver *giver = argument;

    cpool_free_uncached(giver->pool, giver->hold.slots[--giver->hold.count]);
}

static void give_by_bulk(void *argument)
{
    struct giver *giver = argument;

    giver->hold.count--;
    cpool_free_bulk(giver->pool, &giver->hold.slots[giver->hold.count], 1);
}

static void give_by_cache(void *argument)
{
    struct giver *giver = argument;

    cpool_cache_free(giver->cache, giver->hold.slots[--giver->hold.count]);
}

static void give_by_grow(void *argument)
{
    struct giver *giver = argument;

    REQUIRE_EQUAL(cpool_grow(giver->pool, 1), 1);
}

void (*const meeting_gives[GIVES])(void *argument) = {
    give_by_free, give_by_depot_free, give_by_bulk, give_by_cache, give_by_grow,
};

void meeting_give_and_take_back(void *argument)
{
    struct giver *giver = argument;

    hold_free(&giver->hold, 1);
    (void)hold_take(&giver->hold, 1);
}

/* --- Both --- */

static void take_all(void *argument)
{
    struct giver *giver = argument;

    REQUIRE_EQUAL(hold_take(&giver->hold, SIZE_MAX), CAPACITY);
}

void meeting_init(struct meeting *meeting, struct worker **workers, enum manner manner)
{
    struct giver *giver = &meeting->giver;

    giver->pool = steps_pool(0, CAPACITY + 1, 0, ROUNDS);
    inside(giver->pool)->waiters.starving_after = manner == CALLS ? MEETING_LONG : 0;
    meeting->timeout = NULL;
    REQUIRE_EQUAL(cpool_shrink(giver->pool, 1), 1);
    REQUIRE_EQUAL(cpool_cache_create(&giver->cache, giver->pool), 0);
    giver->hold = hold_of(giver->pool);
    meeting->gives = workers[0];
    meeting->waits = workers[1];
    meeting->slot = NULL;
    atomic_init(&meeting->over, false);
    worker_do(meeting->gives, take_all, giver);
}

static void give_all(void *argument)
{
    struct giver *giver = argument;

    hold_free_all(&giver->hold);
}

void meeting_fini(struct meeting *meeting)
{
    struct giver *giver = &meeting->giver;

    cpool_free(giver->pool, meeting->slot);
    worker_do(meeting->gives, give_all, giver);
    cpool_cache_destroy(giver->cache);
    hold_fini(&giver->hold);
    support_destroy_whole(giver->pool);
}

static void wait_for_slot(void *argument)
{
    struct meeting *meeting = argument;

    if (meeting->timeout == NULL)
        meeting->slot = waiter_wait(meeting->giver.pool);
    else
        meeting->slot = cpool_alloc_wait(meeting->giver.pool, meeting->timeout);
    atomic_store_explicit(&meeting->over, true, memory_order_release);
}

/* Whether the first waiter sleeps: it makes no step until it is woken, or its time or its
 * patience ends. */
static bool is_asleep(struct meeting *meeting)
{
    struct cpi_waiters *waiters = &inside(meeting->giver.pool)->waiters;
    bool asleep;

    pthread_mutex_lock(&waiters->lock);
    asleep = waiters->queue.first != NULL && waiters->queue.first->asleep;
    pthread_mutex_unlock(&waiters->lock);
    return asleep;
}

static bool is_over(const struct meeting *meeting)
{
    /* acquire: pairs with wait_for_slot's store, for the slot. */
    return atomic_load_explicit(&meeting->over, memory_order_acquire);
}

bool meeting_run_waiter(struct meeting *meeting, size_t nth)
{
    steps_begin(&meeting->wait, meeting->waits, NULL, nth, wait_for_slot, meeting);
    while (!steps_has_stopped(&meeting->wait) && !is_asleep(meeting) && !is_over(meeting))
        sched_yield();
    return steps_has_stopped(&meeting->wait);
}

bool meeting_run_hasty_waiter(struct meeting *meeting, size_t nth)
{
    return steps_run(&meeting->wait, meeting->waits, NULL, nth, wait_for_slot, meeting);
}

void meeting_send_to_sleep(struct meeting *meeting, struct worker **workers, enum manner manner)
{
    for (size_t nth = 1;; nth++) {
        meeting_init(meeting, workers, manner);
        if (!meeting_run_waiter(meeting, nth))
            return;
        steps_resume(&meeting->wait);
        worker_do(meeting->gives, meeting_gives[GIVE_BY_GROW], &meeting->giver);
        steps_go_on(&meeting->wait);
        meeting_fini(meeting);
    }
}

void meeting_wait_too(void *argument)
{
    struct meeting_second *second = argument;

    second->slot = waiter_wait(second->pool);
    /* release: for the slot. */
    atomic_store_explicit(&second->over, true, memory_order_release);
}

void meeting_await_second(const struct meeting_second *second)
{
    struct cpi_waiters *waiters = &inside(second->pool)->waiters;
    bool settled;

    do {
        sched_yield();
        pthread_mutex_lock(&waiters->lock);
        settled = waiters->queue.last != NULL && waiters->queue.last->asleep;
        pthread_mutex_unlock(&waiters->lock);
    } while (!settled && !atomic_load_explicit(&second->over, memory_order_acquire));
}

void meeting_await_waits(const struct meeting *meeting, uint64_t waits)
{
    while (support_stats(meeting->giver.pool).waits < waits)
        sched_yield();
}

void meeting_sweep(meeting_test *at, enum manner manner, void (*give)(void *argument))
{
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };
    size_t nth = 1;

    while (at(manner, give, workers, nth))
        nth += SUPPORT_COUNT(1u, 13u);
    REQUIRE(nth > 1);
    workers_stop(workers, 3);
}
