/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_call.c - a thread that waits and has been called to look for a slot
 * itself.  Meanwhile the slot is for threads that run, and a waiter that is held up, as a
 * trim that is, holds up no other waiter.
 */
#include "meeting.h"

#include <sched.h>

#include "inside_wait.h"

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

TEST_TIMES(slot_freed_is_for_threads_that_run_while_the_waiter_is_on_its_way, FREES)
{
    meeting_sweep(run_past_at, CALLS, meeting_gives[_i]);
}

static void give_two(void *argument)
{
    struct giver *giver = argument;

    hold_free(&giver->hold, 2);
}

/* --- Held up on its way --- */

/* The first has been called and has stopped.  From now on waiters have this patience,
 * nanoseconds. */
static void hold_up(struct meeting *meeting, struct worker **workers, uint64_t backoff)
{
    meeting_send_to_sleep(meeting, workers, CALLS);
    worker_do(meeting->gives, meeting_give_and_take_back, &meeting->giver);
    REQUIRE_EQUAL(meeting->giver.hold.count, HELD);
    while (!steps_has_stopped(&meeting->wait))
        sched_yield();
    inside(meeting->giver.pool)->waiters.starving_after = backoff;
}

static void let_go(struct meeting *meeting, struct worker *worker, struct meeting_second *second)
{
    steps_go_on(&meeting->wait);
    worker_await(worker);
    REQUIRE(meeting->slot != NULL);
    cpool_free(second->pool, second->slot);
    meeting_fini(meeting);
}

static void wait_for_a_while(void *argument)
{
    struct meeting_second *second = argument;

    second->slot = cpool_alloc_wait(second->pool, second->timeout);
    atomic_store_explicit(&second->over, true, memory_order_release); /* see await_second */
}

/* It sleeps, or its time was up before. */
static void await_second(const struct meeting_second *second)
{
    while (support_stats(second->pool).waits < 2 &&
           !atomic_load_explicit(&second->over, memory_order_acquire)) /* see wait_for_a_while */
        sched_yield();
}

static struct timespec of_milliseconds(long ms)
{
    return (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
}

/* On a busy machine a thread may be held up for as long: then a test is done again, with
 * more time. */
enum { LONGEST_MS = 60000 };

/* Whether two slots were free before the second waiter's time was up, or its patience ended.
 * Then it is done without the first. */
static bool second_had_time(struct meeting *meeting, struct worker *worker,
                            struct meeting_second *second, void (*wait)(void *second))
{
    struct timespec before;
    struct timespec freed;

    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &before), 0);
    worker_begin(worker, wait, second);
    await_second(second);
    worker_do(meeting->gives, give_two, &meeting->giver);
    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &freed), 0);
    before.tv_sec += second->timeout->tv_sec;
    before.tv_nsec += second->timeout->tv_nsec;
    if ((freed.tv_sec - before.tv_sec) * INT64_C(1000000000) + freed.tv_nsec >= before.tv_nsec)
        return false;
    worker_await(worker);
    return true;
}

/* However long the first is held up, those behind it look for themselves when their
 * patience has ended. */
TEST(waiter_that_is_held_up_holds_up_nobody)
{
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };
    bool had_time = false;

    for (long ms = 50; !had_time; ms *= 2) {
        const struct timespec patience = of_milliseconds(ms);
        struct meeting meeting;
        struct meeting_second second;

        REQUIRE(ms < LONGEST_MS);
        hold_up(&meeting, workers, (uint64_t)ms * 1000000);
        second = (struct meeting_second){ meeting.giver.pool, &patience, NULL, false };
        had_time = second_had_time(&meeting, workers[2], &second, meeting_wait_too);
        let_go(&meeting, workers[2], &second);
        REQUIRE(second.slot != NULL);
    }
    workers_stop(workers, 3);
}

/* Before it gives up it looks once more: nobody need have told it. */
TEST(waiter_that_is_behind_looks_again_before_it_gives_up)
{
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };
    bool had_time = false;

    for (long ms = 50; !had_time; ms *= 2) {
        const struct timespec timeout = of_milliseconds(ms);
        struct meeting meeting;
        struct meeting_second second;

        REQUIRE(ms < LONGEST_MS);
        hold_up(&meeting, workers, MEETING_LONG);
        second = (struct meeting_second){ meeting.giver.pool, &timeout, NULL, false };
        had_time = second_had_time(&meeting, workers[2], &second, wait_for_a_while);
        let_go(&meeting, workers[2], &second);
        REQUIRE(second.slot != NULL || !had_time);
    }
    workers_stop(workers, 3);
}

/* --- A look waits for nobody --- */

struct visit {
    cpool_t *pool;
    const struct timespec *timeout;
    void *slot;
    _Atomic bool over;
};

struct beside {
    struct visit visits[2];
    struct worker *workers[2];
    bool in_time; /* the first was over before the draining thread went on */
};

static void use_once(void *pool)
{
    cpool_free(pool, cpool_alloc(pool));
}

static void wait_for_visit(void *argument)
{
    struct visit *visit = argument;

    visit->slot = cpool_alloc_wait(visit->pool, visit->timeout);
    /* release: for the slot; pairs with is_visit_over's load. */
    atomic_store_explicit(&visit->over, true, memory_order_release);
}

static bool is_visit_over(const struct visit *visit)
{
    return atomic_load_explicit(&visit->over, memory_order_acquire); /* see wait_for_visit */
}

/* The draining thread goes on when the first is over, or after a minute. */
static void wait_meanwhile(void *argument)
{
    const struct timespec a_while = { 0, 1000000 };
    struct beside *beside = argument;

    for (int i = 0; i < 2; i++)
        worker_begin(beside->workers[i], wait_for_visit, &beside->visits[i]);
    for (int i = 0; i < 60000 && !is_visit_over(&beside->visits[0]); i++)
        REQUIRE_EQUAL(nanosleep(&a_while, NULL), 0);
    beside->in_time = is_visit_over(&beside->visits[0]);
}

/* All free slots are in the hands of a draining thread, which stands still.  A waiter gives
 * up when its time is up, and one that has time is served when the draining thread is done. */
TEST(wait_beside_a_trim_keeps_its_time)
{
    static const struct timespec moment = { 0, 1000000 };
    static const struct timespec long_time = { 600, 0 };
    cpool_t *pool = steps_pool(0, 4, 0, 2);
    struct beside beside = { { { pool, &moment, NULL, false }, { pool, &long_time, NULL, false } },
                             { worker_start(), worker_start() }, false };
    struct hold hold = hold_of(pool);

    for (int i = 0; i < 2; i++)
        worker_do(beside.workers[i], use_once, pool);
    while (hold.count < 4)
        hold_add(&hold, cpool_alloc_uncached(pool));
    for (int i = 0; i < 2; i++)
        cpool_free_uncached(pool, hold.slots[--hold.count]);
    steps_plan("cpi_depot_take_partial", 1, wait_meanwhile, &beside);
    (void)cpool_trim(pool);
    REQUIRE(steps_drop());
    for (int i = 0; i < 2; i++)
        worker_await(beside.workers[i]);
    REQUIRE(beside.in_time);
    REQUIRE(beside.visits[0].slot == NULL);
    REQUIRE(beside.visits[1].slot != NULL);
    hold_add(&hold, beside.visits[1].slot);
    hold_free_all(&hold);
    workers_stop(beside.workers, 2);
    hold_end(&hold);
}

TEST(waiter_does_not_linger_when_its_time_is_up)
{
    struct worker *workers[2] = {worker_start(), worker_start()};
    bool lingered = false;

    for (long ms = 50; !lingered; ms *= 2) {
        const struct timespec a_while = of_milliseconds(ms);
        struct meeting meeting;

        REQUIRE(ms < LONGEST_MS);
        meeting_init(&meeting, workers, CALLS);
        meeting.timeout = &a_while;
        REQUIRE(meeting_run_hasty_waiter(&meeting, 1));
        lingered = steps_go_on_to(&meeting.wait, "linger_awhile", 2);
        REQUIRE_EQUAL(nanosleep(&a_while, NULL), 0);
        REQUIRE(!lingered || !steps_go_on_to(&meeting.wait, "linger_awhile", 1));
        steps_go_on(&meeting.wait);
        REQUIRE(meeting.slot == NULL);
        meeting_fini(&meeting);
    }
    workers_stop(workers, 2);
}
