/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_queue.c - several threads that wait: which of them gets a given slot, the
 * queue's word meanwhile, and that none sleeps beside a free slot.
 */
#include "meeting.h"

#include "inside_wait.h"

static bool says(const struct meeting *meeting, uint32_t bit)
{
    return (cpi_queue_glance(&inside(meeting->giver.pool)->waiters.queue) & bit) != 0;
}

/* A slot that is not handed over, because the pool has grown: the first waiter is called
 * and finds it, and keeps it, however long the second one has waited. */
TEST(first_that_starves_keeps_what_it_finds)
{
    struct worker *workers[3];
    struct meeting meeting;
    struct meeting_second second;

    workers_start(workers, 3);
    meeting_init(&meeting, workers, IS_FAIR);
    second.pool = meeting.giver.pool;
    (void)meeting_run_waiter(&meeting, NEVER);
    worker_begin(workers[2], meeting_wait_too, &second);
    meeting_await_waits(&meeting, 2);
    worker_do(meeting.gives, meeting_gives[GIVE_BY_GROW], &meeting.giver);
    steps_go_on(&meeting.wait);
    REQUIRE(meeting.slot != NULL);
    worker_do(meeting.gives, meeting_gives[0], &meeting.giver);
    worker_await(workers[2]);
    REQUIRE(second.slot != NULL);
    cpool_free(second.pool, second.slot);
    meeting_fini(&meeting);
    workers_stop(workers, 3);
}

/* Nobody starves any more when the only one that did gives up. */
TEST(slots_go_the_ordinary_way_when_a_waiter_that_starved_gives_up)
{
    static const struct timespec moment = { 0, 2000000 };
    struct worker *workers[3];
    struct meeting meeting;

    workers_start(workers, 3);
    meeting_init(&meeting, workers, IS_FAIR);
    meeting.timeout = &moment;
    (void)meeting_run_hasty_waiter(&meeting, NEVER);
    steps_go_on(&meeting.wait);
    REQUIRE(meeting.slot == NULL);
    REQUIRE_EQUAL(cpi_queue_glance(&inside(meeting.giver.pool)->waiters.queue), 0);
    meeting_fini(&meeting);
    workers_stop(workers, 3);
}

/* The waiter is on its way: the slot lies in the depot, where it looks first, and nobody
 * else need call. */
TEST_TIMES(slot_for_a_waiter_that_is_called_lies_in_the_depot, FREES)
{
    struct worker *workers[3];
    struct meeting meeting;
    struct figures stats;

    workers_start(workers, 3);
    meeting_send_to_sleep(&meeting, workers, CALLS);
    REQUIRE(says(&meeting, CPI_QUEUE_ASKS));
    worker_do(meeting.gives, meeting_gives[_i], &meeting.giver);
    stats = support_stats(meeting.giver.pool);
    REQUIRE_EQUAL(stats.in_caches, 0);
    REQUIRE_EQUAL(stats.in_depot, 1);
    REQUIRE(!says(&meeting, CPI_QUEUE_ASKS));
    steps_go_on(&meeting.wait);
    REQUIRE(meeting.slot != NULL);
    meeting_fini(&meeting);
    workers_stop(workers, 3);
}

/* Steps that a waiter may need which is called once in vain, and once for a slot. */
enum { FEW_STEPS = 3000 };

static void wait_with_few_steps(void *argument)
{
    steps_allow(FEW_STEPS);
    meeting_wait_too(argument);
    steps_allow(0);
}

/* One that has been called in vain naps before each look, longer each time, and sleeps on
 * afterwards: it does not look again and again. */
TEST(waiter_called_in_vain_goes_to_sleep_again)
{
    const struct timespec a_while = { 0, 300000000 };
    const unsigned calls = 8;
    struct worker *workers[3];
    struct meeting meeting;
    struct meeting_second second;
    uint64_t begun;

    workers_start(workers, 3);
    meeting_init(&meeting, workers, CALLS);
    second.pool = meeting.giver.pool;
    worker_begin(workers[2], wait_with_few_steps, &second);
    meeting_await_waits(&meeting, 1);
    begun = cpi_os_now();
    for (unsigned i = 0; i < calls; i++) {
        cpi_waiters_call(&inside(second.pool)->waiters);
        while (!says(&meeting, CPI_QUEUE_ASKS))
            sched_yield();
    }
    REQUIRE(cpi_os_now() - begun >= 4 * calls * CPI_NAP);
    REQUIRE_EQUAL(nanosleep(&a_while, NULL), 0);
    worker_do(meeting.gives, meeting_gives[0], &meeting.giver);
    worker_await(workers[2]);
    REQUIRE(second.slot != NULL);
    cpool_free(second.pool, second.slot);
    meeting.slot = NULL;
    meeting_fini(&meeting);
    workers_stop(workers, 3);
}

/* Nobody waits yet, and the giver's entry is open again: the slots stay in its cache. */
static void give_two(void *argument)
{
    struct giver *giver = argument;

    for (unsigned i = 0; i < CPI_CALM; i++)
        meeting_give_and_take_back(giver);
    hold_free(&giver->hold, 2);
    REQUIRE_EQUAL(support_stats(giver->pool).in_caches, 2);
}

/* Two slots lie in a cache.  The first waiter stops at its nth step, and may have both in
 * its hands.  The second one looks, perhaps in vain.  Then the first one goes on. */
static bool share_at(enum manner manner, void (*give)(void *argument), struct worker **workers,
                     size_t nth)
{
    struct meeting meeting;
    struct meeting_second second;
    bool stopped;

    meeting_init(&meeting, workers, manner);
    worker_do(meeting.gives, give, &meeting.giver);
    second.pool = meeting.giver.pool;
    atomic_init(&second.over, false);
    stopped = meeting_run_waiter(&meeting, nth);
    worker_begin(workers[2], meeting_wait_too, &second);
    meeting_await_second(&second);
    steps_go_on(&meeting.wait);
    worker_await(workers[2]);
    REQUIRE(meeting.slot != NULL && second.slot != NULL);
    cpool_free(second.pool, second.slot);
    meeting_fini(&meeting);
    return stopped;
}

TEST_TIMES(two_that_wait_share_what_one_of_them_moves, MANNERS)
{
    meeting_sweep(share_at, (enum manner)_i, give_two);
}

enum { SMALL = 4, LARGE = 6 };

static void take_all(void *hold)
{
    REQUIRE_EQUAL(hold_take(hold, SIZE_MAX), LARGE);
}

/* Frees the topmost slot and removes it. */
static void shrink(void *argument)
{
    struct hold *hold = argument;
    size_t top = 0;

    while (cpool_index(hold->pool, hold->slots[top]) != LARGE - 1)
        top++;
    hold_free_one(hold, top);
    (void)cpool_shrink(hold->pool, 1);
}

static void free_all(void *hold)
{
    hold_free_all(hold);
}

static void wait_for_moment(void *argument)
{
    static const struct timespec moment = { 0, 2000000 };
    struct meeting_second *second = argument;

    second->slot = cpool_alloc_wait(second->pool, &moment);
}

/* One thread stops at its nth step, and another one waits.  Then there is room for growth: that
 * one shrinks, perhaps with the only free slot in its hands, or it has waited before, and gives up
 * when it has been called. */
static bool shrink_at(struct worker **workers, bool gives_up, size_t nth)
{
    cpool_t *pool = steps_pool(0, SMALL, LARGE, 2);
    struct meeting_second first = { pool, NULL, NULL, false };
    struct meeting_second second = { pool, NULL, NULL, false };
    struct steps_stop stop;
    struct hold hold;
    bool stopped;

    /* Until when it would look again. */
    inside(pool)->waiters.starving_after = MEETING_LONG;
    hold = hold_of(pool);
    worker_do(workers[0], take_all, &hold);
    stopped = gives_up ? steps_run(&stop, workers[2], NULL, nth, wait_for_moment, &first)
                       : steps_run(&stop, workers[0], NULL, nth, shrink, &hold);
    worker_begin(workers[1], meeting_wait_too, &second);
    meeting_await_second(&second);
    if (gives_up)
        worker_do(workers[0], shrink, &hold);
    steps_go_on(&stop);
    cpool_free(pool, first.slot);
    worker_await(workers[1]);
    REQUIRE(second.slot != NULL);
    cpool_free(pool, second.slot);
    worker_do(workers[0], free_all, &hold);
    hold_end(&hold);
    return stopped;
}

TEST_TIMES(shrink_leaves_nobody_asleep_beside_room_for_growth, 2)
{
    struct worker *workers[3];
    size_t nth = 1;

    workers_start(workers, 3);
    while (shrink_at(workers, _i == 1, nth))
        nth += SUPPORT_COUNT(1u, 13u);
    REQUIRE(nth > 13);
    workers_stop(workers, 3);
}
