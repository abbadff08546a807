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
    if (stopped && !meeting_lock_is_held(&meeting.giver))
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
    void *slot;
};

static void wait_too(void *argument)
{
    struct second *second = argument;

    second->slot = meeting_wait(second->pool);
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
    if (stopped && meeting_lock_is_held(&meeting.giver)) {
        steps_go_on(&meeting.wait);
        REQUIRE(meeting.slot == NULL);
        meeting_fini(&meeting);
        return true;
    }
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
        ONCE(slots_are_handed_over_while_that_holds_up_nobody),
    };

    return SUPPORT_RUN("steps_nudge", tests);
}
