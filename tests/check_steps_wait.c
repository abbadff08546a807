/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_wait.c - a thread that waits for a slot, and one that gives one, each
 * stopped at every step while the other does all it has to do: no wake-up is lost,
 * whether slots are handed over or the waiter is called to look for itself.
 *
 * Includes meeting.h.
 */
#include "meeting.h"

/*
 * ---- No wake-up is lost --------------------------------------------------
 */

/* The waiter stops at its nth step, and a slot is given.  Returns false if the waiter
 * sleeps before that step. */
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

/* The giver stops at its nth step, and the waiter goes as far as it gets.  Returns
 * false if the giver comes to its end before that step. */
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

/* By each of the ways to free one slot. */
START_TEST(slot_freed_while_somebody_starves_goes_to_nobody_else)
{
    meeting_sweep(overtake_at, IS_FAIR, meeting_gives[_i]);
}
END_TEST

/* Nor does it pass through a magazine. */
START_TEST(slot_freed_while_somebody_starves_is_handed_over_directly)
{
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };
    struct meeting meeting;
    uint64_t exchanges;
    cpool_stats_t stats;

    meeting_init(&meeting, workers, IS_FAIR);
    (void)meeting_run_waiter(&meeting, NEVER);
    stats = support_stats(meeting.giver.pool);
    exchanges = stats.exchanges;
    worker_do(meeting.gives, meeting_gives[_i], &meeting.giver);
    steps_go_on(&meeting.wait);
    stats = support_stats(meeting.giver.pool);
    REQUIRE_EQUAL(stats.exchanges, exchanges);
    REQUIRE_EQUAL(stats.in_depot + stats.in_caches, 0);
    meeting_fini(&meeting);
    for (int i = 0; i < 3; i++)
        worker_stop(workers[i]);
}
END_TEST

/*
 * ---- A look waits for nobody ---------------------------------------------
 */

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

/* The draining thread goes on when the first is over, or after some seconds. */
static void wait_meanwhile(void *argument)
{
    const struct timespec a_while = { 0, 1000000 };
    struct beside *beside = argument;

    for (int i = 0; i < 2; i++)
        worker_begin(beside->workers[i], wait_for_visit, &beside->visits[i]);
    for (int i = 0; i < 5000 && !is_visit_over(&beside->visits[0]); i++)
        REQUIRE_EQUAL(nanosleep(&a_while, NULL), 0);
    beside->in_time = is_visit_over(&beside->visits[0]);
}

/* All free slots are in the hands of a draining thread, which stands still.  A waiter gives
 * up when its time is up, and one that has time is served when the draining thread is done. */
START_TEST(wait_beside_a_trim_keeps_its_time)
{
    static const struct timespec moment = { 0, 1000000 };
    static const struct timespec long_time = { 20, 0 };
    cpool_t *pool = steps_pool(CPOOL_WAITABLE, 4, 0, 2);
    struct beside beside = { { { pool, &moment, NULL, false }, { pool, &long_time, NULL, false } },
                             { worker_start(), worker_start() }, false };
    struct hold hold;

    hold_init(&hold, pool);
    for (int i = 0; i < 2; i++)
        worker_do(beside.workers[i], use_once, pool);
    while (hold.count < 4)
        hold_add(&hold, cpool_depot_alloc(pool));
    for (int i = 0; i < 2; i++)
        cpool_depot_free(pool, hold.slots[--hold.count]);
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
    for (int i = 0; i < 2; i++)
        worker_stop(beside.workers[i]);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(wait_stopped_at_every_step_ends_with_what_is_given, MANNERS * GIVES),
        TIMES(wait_for_who_is_stopped_at_every_step_of_giving_ends, MANNERS * GIVES),
        TIMES(slot_freed_while_somebody_starves_goes_to_nobody_else, FREES),
        TIMES(slot_freed_while_somebody_starves_is_handed_over_directly, FREES),
        ONCE(wait_beside_a_trim_keeps_its_time),
    };

    return SUPPORT_RUN("steps_wait", tests);
}
