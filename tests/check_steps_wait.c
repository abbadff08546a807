/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_wait.c - who waits for a slot, and who gives one, each stopped at
 * every step while the other does all it has to do: no wake-up is lost, whether
 * slots are handed over or who waits is nudged to look for itself.
 *
 * Includes meeting.h.
 */
#include "meeting.h"

/*
 * ---- No wake-up is lost --------------------------------------------------
 */

/* The waiter stops at its nth step, and a slot is given; false if the waiter sleeps
 * before that step. */
static bool wait_at(enum manner manner, void (*give)(void *argument), struct worker **workers,
                    size_t nth)
{
    struct meeting meeting;
    bool stopped;

    meeting_init(&meeting, workers, manner);
    stopped = meeting_run_waiter(&meeting, nth);
    worker_do(meeting.gives, give, &meeting.giver);
    steps_go_on(&meeting.wait);
    REQUIRE(meeting.slot != NULL);
    meeting_fini(&meeting);
    return stopped;
}

/* Who gives stops at its nth step, and the waiter goes as far as it gets; false if
 * the giver comes to its end before that step. */
static bool give_at(enum manner manner, void (*give)(void *argument), struct worker **workers,
                    size_t nth)
{
    struct meeting meeting;
    struct steps_stop stop;
    bool stopped;

    meeting_init(&meeting, workers, manner);
    stopped = steps_run(&stop, meeting.gives, NULL, nth, give, &meeting.giver);
    (void)meeting_run_waiter(&meeting, NEVER);
    steps_go_on(&stop);
    steps_go_on(&meeting.wait);
    REQUIRE(meeting.slot != NULL);
    meeting_fini(&meeting);
    return stopped;
}

START_TEST(wait_stopped_at_every_step_ends_with_what_is_given)
{
    meeting_sweep(wait_at, (enum manner)(_i / GIVES), meeting_gives[_i % GIVES]);
}
END_TEST

START_TEST(wait_for_who_is_stopped_at_every_step_of_giving_ends)
{
    meeting_sweep(give_at, (enum manner)(_i / GIVES), meeting_gives[_i % GIVES]);
}
END_TEST

/*
 * ---- Nobody is overtaken -------------------------------------------------
 */

struct rival {
    cpool_t *pool;
    void *slot;
};

static void alloc_too(void *argument)
{
    struct rival *rival = argument;

    rival->slot = cpool_depot_alloc(rival->pool);
}

/* While one waits another frees a slot, and at its nth step a third one allocates,
 * in vain. */
static bool overtake_at(enum manner manner, void (*give)(void *argument),
                        struct worker **workers, size_t nth)
{
    struct meeting meeting;
    struct steps_stop stop;
    struct steps_stop rivals;
    struct rival rival;
    const void *slot;
    bool stopped;

    meeting_init(&meeting, workers, manner);
    rival.pool = meeting.giver.pool;
    slot = meeting.giver.hold.slots[meeting.giver.hold.count - 1];
    (void)meeting_run_waiter(&meeting, NEVER);
    REQUIRE(meeting_is_asleep(&meeting));
    stopped = steps_run(&stop, meeting.gives, NULL, nth, give, &meeting.giver);
    (void)steps_run(&rivals, workers[2], STEPS_LOCK, 1, alloc_too, &rival);
    steps_go_on(&stop);
    steps_go_on(&rivals);
    steps_go_on(&meeting.wait);
    REQUIRE(rival.slot == NULL);
    REQUIRE(meeting.slot == slot);
    meeting_fini(&meeting);
    return stopped;
}

/* By each of the ways to free one slot; and when it nudged others before, but one
 * has waited for long. */
START_TEST(slot_freed_while_somebody_waits_goes_to_nobody_else)
{
    meeting_sweep(overtake_at, _i < FREES ? HANDS_OVER : IS_FAIR, meeting_gives[_i % FREES]);
}
END_TEST

/* Nor does it pass through a magazine. */
START_TEST(slot_freed_while_somebody_waits_is_handed_over_directly)
{
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };
    enum manner manner = _i < FREES ? HANDS_OVER : IS_FAIR;
    struct meeting meeting;
    uint64_t exchanges;
    cpool_stats_t stats;

    meeting_init(&meeting, workers, manner);
    (void)meeting_run_waiter(&meeting, NEVER);
    stats = support_stats(meeting.giver.pool);
    exchanges = stats.exchanges;
    worker_do(meeting.gives, meeting_gives[_i % FREES], &meeting.giver);
    steps_go_on(&meeting.wait);
    stats = support_stats(meeting.giver.pool);
    REQUIRE_EQUAL(stats.exchanges, exchanges);
    REQUIRE_EQUAL(stats.in_depot + stats.in_caches, 0);
    meeting_fini(&meeting);
    for (int i = 0; i < 3; i++)
        worker_stop(workers[i]);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(wait_stopped_at_every_step_ends_with_what_is_given, MANNERS * GIVES),
        TIMES(wait_for_who_is_stopped_at_every_step_of_giving_ends, MANNERS * GIVES),
        TIMES(slot_freed_while_somebody_waits_goes_to_nobody_else, 2 * FREES),
        TIMES(slot_freed_while_somebody_waits_is_handed_over_directly, 2 * FREES),
    };

    return SUPPORT_RUN("steps_wait", tests);
}
