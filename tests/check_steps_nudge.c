/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_nudge.c - who waits and has been nudged to look for a slot itself:
 * meanwhile the slot is for whoever runs, and the nudge is passed on by who finds
 * one and by who gives up, whatever step it has come to.
 *
 * Includes meeting.h, and pool_impl.h, to see in which way the pool gives.
 */
#include "meeting.h"

#include <sched.h>

#include "pool_impl.h"

/* Slots that the giver holds at first. */
enum { HELD = 4 };

static void give_and_take(void *argument)
{
    struct giver *giver = argument;

    hold_free(&giver->hold, 1);
    REQUIRE_EQUAL(hold_take(&giver->hold, 1), 1);
}

/* Until who waits has found it, a slot is there for who runs. */
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

START_TEST(slot_freed_is_for_who_runs_while_who_waits_is_on_its_way)
{
    meeting_sweep(run_past_at, NUDGES, meeting_gives[_i]);
}
END_TEST

struct second {
    cpool_t *pool;
    const struct timespec *timeout; /* of who is not to wait until it is woken */
    void *slot;
};

static void wait_too(void *argument)
{
    struct second *second = argument;

    second->slot = waiter_wait(second->pool);
}

static void await_sleeper(const struct meeting *meeting, uint64_t waits)
{
    while (support_stats(meeting->giver.pool).waits < waits)
        sched_yield();
}

/* One stops at its nth step of the only look for which it has time; another one
 * waits behind it; then there is a slot.  Who does not take it passes the nudge on. */
static bool give_up_at(enum manner manner, void (*give)(void *argument), struct worker **workers,
                       size_t nth)
{
    static const struct timespec no_longer = { 0, 1 };
    struct meeting meeting;
    struct second second;
    uint64_t asleep;
    bool stopped;

    meeting_init(&meeting, workers, manner);
    meeting.timeout = &no_longer;
    second.pool = meeting.giver.pool;
    stopped = meeting_run_hasty_waiter(&meeting, nth);
    asleep = support_stats(second.pool).waits;
    worker_begin(workers[2], wait_too, &second);
    await_sleeper(&meeting, asleep + 1);
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

START_TEST(nudge_is_passed_on_by_who_gives_up)
{
    meeting_sweep(give_up_at, NUDGES, meeting_gives[_i]);
}
END_TEST

static void give_two(void *argument)
{
    struct giver *giver = argument;

    hold_free(&giver->hold, 2);
}

/* Of two slots that are freed at once only the first makes anybody wake up: and
 * who does wakes the next one. */
START_TEST(nudge_is_passed_on_by_who_finds_a_slot)
{
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };

    for (int round = 0; round < 100; round++) {
        struct meeting meeting;
        struct second second;

        meeting_init(&meeting, workers, NUDGES);
        second.pool = meeting.giver.pool;
        (void)meeting_run_waiter(&meeting, NEVER);
        worker_begin(workers[2], wait_too, &second);
        await_sleeper(&meeting, 2);
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

/* The first is asleep, and stops at its next step: the one before it joins again. */
static void send_to_sleep(struct meeting *meeting, struct worker **workers,
                          const struct timespec *patience)
{
    for (size_t nth = 1;; nth++) {
        meeting_init(meeting, workers, NUDGES);
        meeting->giver.pool->waiters.patience = *patience;
        if (!meeting_run_waiter(meeting, nth))
            return;
        steps_resume(&meeting->wait);
        worker_do(meeting->gives, meeting_gives[GIVE_BY_GROW], &meeting->giver);
        steps_go_on(&meeting->wait);
        meeting_fini(meeting);
    }
}

static struct timespec twice(struct timespec time)
{
    const struct timespec sum = { 2 * time.tv_sec + 2 * time.tv_nsec / 1000000000L,
                                  2 * time.tv_nsec % 1000000000L };

    return sum;
}

/* The first has been nudged and has stopped.  With a patience that ends meanwhile
 * that takes a try or two: it may have ended before. */
static void hold_up(struct meeting *meeting, struct worker **workers, struct timespec patience)
{
    for (;; patience = twice(patience)) {
        send_to_sleep(meeting, workers, &patience);
        worker_do(meeting->gives, give_and_take_back, &meeting->giver);
        if (meeting->giver.hold.count == HELD)
            break;
        steps_go_on(&meeting->wait);
        meeting_fini(meeting);
    }
    while (!steps_has_stopped(&meeting->wait))
        sched_yield();
}

static void let_go(struct meeting *meeting, struct second *second)
{
    steps_go_on(&meeting->wait);
    REQUIRE(meeting->slot != NULL);
    cpool_free(second->pool, second->slot);
    meeting_fini(meeting);
}

/* However long the first is held up, those behind it are served when their patience
 * has ended. */
START_TEST(who_is_held_up_on_its_way_holds_up_nobody)
{
    const struct timespec patience = { 0, 50000000 };
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };
    struct meeting meeting;
    struct second second;

    hold_up(&meeting, workers, patience);
    second.pool = meeting.giver.pool;
    worker_begin(workers[2], wait_too, &second);
    await_sleeper(&meeting, 2);
    worker_do(meeting.gives, give_two, &meeting.giver);
    worker_await(workers[2]);
    REQUIRE(second.slot != NULL);
    let_go(&meeting, &second);
    for (int i = 0; i < 3; i++)
        worker_stop(workers[i]);
}
END_TEST

/* Nor is it overtaken for longer: what is freed then is its own. */
START_TEST(who_is_held_up_is_served_when_its_patience_has_ended)
{
    const struct timespec patience = { 0, 50000000 };
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };
    const struct cpi_waiters *waiters;
    struct meeting meeting;
    struct second second;

    hold_up(&meeting, workers, patience);
    second.pool = meeting.giver.pool;
    waiters = &second.pool->waiters;
    REQUIRE_EQUAL(nanosleep(&waiters->patience, NULL), 0);
    worker_begin(workers[2], wait_too, &second);
    await_sleeper(&meeting, 2);
    worker_do(meeting.gives, meeting_gives[0], &meeting.giver);
    REQUIRE_EQUAL(waiters->transit, 1);
    worker_do(meeting.gives, meeting_gives[0], &meeting.giver);
    worker_await(workers[2]);
    REQUIRE(second.slot != NULL);
    let_go(&meeting, &second);
    for (int i = 0; i < 3; i++)
        worker_stop(workers[i]);
}
END_TEST

static void wait_for_a_while(void *argument)
{
    struct second *second = argument;

    second->slot = cpool_alloc_wait(second->pool, second->timeout);
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* Whether two slots were free before the second waiter's time was up. */
static bool second_had_time(struct meeting *meeting, struct worker *worker,
                            struct second *second)
{
    struct timespec before;
    struct timespec freed;
    struct timespec took;

    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &before), 0);
    worker_begin(worker, wait_for_a_while, second);
    await_sleeper(meeting, 2);
    worker_do(meeting->gives, give_two, &meeting->giver);
    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &freed), 0);
    worker_await(worker);
    took.tv_sec = freed.tv_sec - before.tv_sec - (freed.tv_nsec < before.tv_nsec);
    took.tv_nsec = freed.tv_nsec - before.tv_nsec + (freed.tv_nsec < before.tv_nsec) * 1000000000L;
    return is_before(&took, second->timeout);
}

/* Before it gives up it looks once more: nobody need have told it. */
START_TEST(who_is_behind_looks_again_before_it_gives_up)
{
    const struct timespec patience = { 1000, 0 };
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };
    struct timespec timeout = { 0, 50000000 };
    bool had_time = false;

    for (; !had_time; timeout = twice(timeout)) {
        struct meeting meeting;
        struct second second;

        hold_up(&meeting, workers, patience);
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

/*
 * ---- Handing over --------------------------------------------------------
 */

/* Who was nudged for nothing's sake is handed slots from then on; until somebody
 * waits who could have used one before its owner came for it. */
START_TEST(slots_are_handed_over_while_that_holds_up_nobody)
{
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };
    struct cpi_waiters *waiters;
    struct meeting meeting;

    meeting_init(&meeting, workers, NUDGES);
    waiters = &meeting.giver.pool->waiters;
    (void)meeting_run_waiter(&meeting, NEVER);
    worker_do(meeting.gives, meeting_gives[0], &meeting.giver);
    steps_go_on(&meeting.wait);
    REQUIRE(meeting.slot != NULL);
    REQUIRE(waiters->direct);
    REQUIRE_EQUAL(waiters->transit, 0);

    meeting_fini(&meeting);
    meeting_init(&meeting, workers, HANDS_OVER);
    waiters = &meeting.giver.pool->waiters;
    waiters->transit++; /* as if somebody was waking up */
    (void)meeting_run_waiter(&meeting, NEVER);
    worker_do(meeting.gives, meeting_gives[GIVE_BY_GROW], &meeting.giver);
    steps_go_on(&meeting.wait);
    REQUIRE(!waiters->direct);
    waiters->transit--;
    REQUIRE_EQUAL(waiters->transit, 0);
    meeting_fini(&meeting);
    for (int i = 0; i < 3; i++)
        worker_stop(workers[i]);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(slot_freed_is_for_who_runs_while_who_waits_is_on_its_way, FREES),
        TIMES(nudge_is_passed_on_by_who_gives_up, FREES),
        ONCE(nudge_is_passed_on_by_who_finds_a_slot),
        ONCE(who_is_held_up_on_its_way_holds_up_nobody),
        ONCE(who_is_held_up_is_served_when_its_patience_has_ended),
        ONCE(who_is_behind_looks_again_before_it_gives_up),
        ONCE(slots_are_handed_over_while_that_holds_up_nobody),
    };

    return SUPPORT_RUN("steps_nudge", tests);
}
