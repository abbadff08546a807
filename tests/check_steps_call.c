/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_call.c - a thread that waits and has been called to look for a slot
 * itself.  Meanwhile the slot is for threads that run, and the call is passed on by a
 * waiter that finds a slot and by one that gives up, at any of its steps.
 *
 * Includes meeting.h, and pool_impl.h, to choose the pool's patience.
 */
#include "meeting.h"

#include <sched.h>

#include "inside.h"

/* Slots that the giver holds at first. */
enum { HELD = 4 };

static void give_and_take(void *argument)
{
    struct giver *giver = argument;

    hold_free(&giver->hold, 1);
    REQUIRE_EQUAL(hold_take(&giver->hold, 1), 1);
}

/* Until the waiter has found it, a slot is there for threads that run. */
static bool run_past_at(enum manner manner, void (*give)(void *argument),
                        struct worker **workers, size_t nth)
{
    struct meeting meeting;
    bool stopped;

    meeting_init(&meeting, workers, manner);
    stopped = meeting_run_waiter(&meeting, nth);
    if (stopped)
        worker_do(meeting.gives, give_and_take, &meeting.giver);
    steps_resume(&meeting.wait);
    worker_do(meeting.gives, give, &meeting.giver);
    steps_go_on(&meeting.wait);
    REQUIRE(meeting.slot != NULL);
    meeting_fini(&meeting);
    return stopped;
}

START_TEST(slot_freed_is_for_threads_that_run_while_the_waiter_is_on_its_way)
{
    meeting_sweep(run_past_at, CALLS, meeting_gives[_i]);
}
END_TEST

/* One stops at its nth step of the only look for which it has time.  Another one waits behind
 * it.  Then there is a slot.  The one that does not take it passes the call on. */
static bool give_up_at(enum manner manner, void (*give)(void *argument), struct worker **workers,
                       size_t nth)
{
    static const struct timespec no_longer = { 0, 1 };
    struct meeting meeting;
    struct meeting_second second;
    uint64_t asleep;
    bool stopped;

    meeting_init(&meeting, workers, manner);
    meeting.timeout = &no_longer;
    second.pool = meeting.giver.pool;
    stopped = meeting_run_hasty_waiter(&meeting, nth);
    asleep = support_stats(second.pool).waits;
    worker_begin(workers[2], meeting_wait_too, &second);
    meeting_await_waits(&meeting, asleep + 1);
    worker_do(meeting.gives, give, &meeting.giver);
    steps_go_on(&meeting.wait);
    if (meeting.slot != NULL)
        worker_do(meeting.gives, give, &meeting.giver);
    worker_await(workers[2]);
    REQUIRE(second.slot != NULL);
    cpool_free(second.pool, second.slot);
    meeting_fini(&meeting);
    return stopped;
}

START_TEST(call_is_passed_on_by_a_waiter_that_gives_up)
{
    meeting_sweep(give_up_at, CALLS, meeting_gives[_i]);
}
END_TEST

static void give_two(void *argument)
{
    struct giver *giver = argument;

    hold_free(&giver->hold, 2);
}

/* Of two slots that are freed at once only the first makes anybody wake up, and that
 * one wakes the next. */
START_TEST(call_is_passed_on_by_a_waiter_that_finds_a_slot)
{
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };

    for (int round = 0; round < 100; round++) {
        struct meeting meeting;
        struct meeting_second second;

        meeting_init(&meeting, workers, CALLS);
        second.pool = meeting.giver.pool;
        (void)meeting_run_waiter(&meeting, NEVER);
        worker_begin(workers[2], meeting_wait_too, &second);
        meeting_await_waits(&meeting, 2);
        worker_do(meeting.gives, give_two, &meeting.giver);
        steps_go_on(&meeting.wait);
        worker_await(workers[2]);
        REQUIRE(meeting.slot != NULL && second.slot != NULL);
        cpool_free(second.pool, second.slot);
        meeting_fini(&meeting);
    }
    for (int i = 0; i < 3; i++)
        worker_stop(workers[i]);
}
END_TEST

/* The thread that came last sleeps. */
static void await_last(cpool_t *pool, const struct cpi_waiter *before)
{
    struct cpi_waiters *waiters = &inside(pool)->waiters;
    bool asleep;

    do {
        sched_yield();
        pthread_mutex_lock(&waiters->lock);
        asleep = waiters->queue.last != NULL && waiters->queue.last != before &&
                 waiters->queue.last->asleep;
        pthread_mutex_unlock(&waiters->lock);
    } while (!asleep);
}

/* The first stops at its nth step, and the second sleeps.  Then two slots are freed, for
 * which there is one call.  However the first comes by its slot, the second hears of the
 * other. */
static bool pass_on_at(enum manner manner, void (*give)(void *argument), struct worker **workers,
                       size_t nth)
{
    struct meeting meeting;
    struct meeting_second second;
    bool stopped;

    meeting_init(&meeting, workers, manner);
    second.pool = meeting.giver.pool;
    stopped = meeting_run_waiter(&meeting, nth);
    worker_begin(workers[2], meeting_wait_too, &second);
    await_last(second.pool, stopped ? NULL : inside(second.pool)->waiters.queue.first);
    worker_do(meeting.gives, give, &meeting.giver);
    steps_go_on(&meeting.wait);
    worker_await(workers[2]);
    REQUIRE(meeting.slot != NULL && second.slot != NULL);
    cpool_free(second.pool, second.slot);
    meeting_fini(&meeting);
    return stopped;
}

START_TEST(call_is_passed_on_wherever_it_reaches_a_waiter)
{
    meeting_sweep(pass_on_at, CALLS, give_two);
}
END_TEST

/*
 * ---- Held up on its way --------------------------------------------------
 */

/* Only if it is handed over, the giver does not get it back. */
static void give_and_take_back(void *argument)
{
    struct giver *giver = argument;

    hold_free(&giver->hold, 1);
    (void)hold_take(&giver->hold, 1);
}

/* The first has been called and has stopped.  From now on waiters have this patience,
 * nanoseconds. */
static void hold_up(struct meeting *meeting, struct worker **workers, uint64_t backoff)
{
    meeting_send_to_sleep(meeting, workers, CALLS);
    worker_do(meeting->gives, give_and_take_back, &meeting->giver);
    REQUIRE_EQUAL(meeting->giver.hold.count, HELD);
    while (!steps_has_stopped(&meeting->wait))
        sched_yield();
    inside(meeting->giver.pool)->waiters.starving_after = backoff;
}

static void let_go(struct meeting *meeting, struct meeting_second *second)
{
    steps_go_on(&meeting->wait);
    REQUIRE(meeting->slot != NULL);
    cpool_free(second->pool, second->slot);
    meeting_fini(meeting);
}

/* However long the first is held up, those behind it look for themselves when their
 * patience has ended. */
START_TEST(waiter_that_is_held_up_holds_up_nobody)
{
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };
    struct meeting meeting;
    struct meeting_second second;

    hold_up(&meeting, workers, 50000000);
    second.pool = meeting.giver.pool;
    worker_begin(workers[2], meeting_wait_too, &second);
    meeting_await_waits(&meeting, 2);
    worker_do(meeting.gives, give_two, &meeting.giver);
    worker_await(workers[2]);
    REQUIRE(second.slot != NULL);
    let_go(&meeting, &second);
    for (int i = 0; i < 3; i++)
        worker_stop(workers[i]);
}
END_TEST

static void wait_for_a_while(void *argument)
{
    struct meeting_second *second = argument;

    second->slot = cpool_alloc_wait(second->pool, second->timeout);
}

/* Whether two slots were free before the second waiter's time was up. */
static bool second_had_time(struct meeting *meeting, struct worker *worker,
                            struct meeting_second *second)
{
    struct timespec before;
    struct timespec freed;

    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &before), 0);
    worker_begin(worker, wait_for_a_while, second);
    meeting_await_waits(meeting, 2);
    worker_do(meeting->gives, give_two, &meeting->giver);
    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &freed), 0);
    worker_await(worker);
    return (freed.tv_sec - before.tv_sec) * 1000000000L + freed.tv_nsec - before.tv_nsec <
           second->timeout->tv_nsec;
}

/* Before it gives up it looks once more: nobody need have told it. */
START_TEST(waiter_that_is_behind_looks_again_before_it_gives_up)
{
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };
    struct timespec timeout = { 0, 50000000 };
    bool had_time = false;

    for (; !had_time; timeout.tv_nsec *= 2) {
        struct meeting meeting;
        struct meeting_second second;

        REQUIRE(timeout.tv_nsec < 1000000000L);
        hold_up(&meeting, workers, MEETING_LONG);
        second.pool = meeting.giver.pool;
        second.timeout = &timeout;
        had_time = second_had_time(&meeting, workers[2], &second);
        REQUIRE(second.slot != NULL || !had_time);
        let_go(&meeting, &second);
    }
    for (int i = 0; i < 3; i++)
        worker_stop(workers[i]);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(slot_freed_is_for_threads_that_run_while_the_waiter_is_on_its_way, FREES),
        TIMES(call_is_passed_on_by_a_waiter_that_gives_up, FREES),
        ONCE(call_is_passed_on_by_a_waiter_that_finds_a_slot),
        ONCE(call_is_passed_on_wherever_it_reaches_a_waiter),
        ONCE(waiter_that_is_held_up_holds_up_nobody),
        ONCE(waiter_that_is_behind_looks_again_before_it_gives_up),
    };

    return SUPPORT_RUN("steps_call", tests);
}
