/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_recall_contest.c - empty means empty, with all threads after the last
 * slots at once.  Never more than the capacity is live.
 *
 * Includes crew.h.  Every test runs with the kernel's barrier, where there is
 * one, and in a child that the kernel refuses it.
 */
#include "crew.h"

#include <stdatomic.h>

struct contest {
    struct hold hold;
    size_t share;
    size_t capacity;
    size_t turns;
    _Atomic size_t *live;
    struct support_door *door;
};

/* Takes one more, however often it takes.  At any moment the shares of all fit. */
static void take_one(struct contest *contest)
{
    while (hold_take(&contest->hold, 1) == 0)
        ;
    /* relaxed: raised after the alloc and lowered before the free, so it never
     * tells too many, and no other data goes with it. */
    REQUIRE(atomic_fetch_add_explicit(contest->live, 1, memory_order_relaxed) <
            contest->capacity);
}

static void *compete(void *argument)
{
    struct contest *contest = argument;

    support_door_wait(contest->door);
    for (size_t turn = 0; turn < contest->turns; turn++) {
        while (contest->hold.count < contest->share)
            take_one(contest);
        atomic_fetch_sub_explicit(contest->live, contest->share, memory_order_relaxed);
        hold_free_all(&contest->hold);
    }
    /* In the end all have their shares at once, so that all slots are live. */
    while (contest->hold.count < contest->share)
        take_one(contest);
    support_door_wait(contest->door + 1);
    hold_free_all(&contest->hold);
    return NULL;
}

static void run_contest(unsigned flags, size_t k, size_t turns)
{
    cpool_t *pool = crew_create(flags, CREW_MAX * k, 0);
    struct support_door doors[2];
    struct contest contests[CREW_MAX];
    pthread_t threads[CREW_MAX];
    _Atomic size_t live = 0;

    support_door_init(&doors[0]);
    support_door_init(&doors[1]);
    for (int i = 0; i < CREW_MAX; i++) {
        contests[i].share = k;
        contests[i].capacity = CREW_MAX * k;
        contests[i].turns = turns;
        contests[i].live = &live;
        contests[i].door = doors;
        hold_init(&contests[i].hold, pool);
        threads[i] = support_start(compete, &contests[i]);
    }
    support_door_await(&doors[0], CREW_MAX);
    support_door_open(&doors[0]);
    support_door_await(&doors[1], CREW_MAX);
    REQUIRE_EQUAL(support_stats(pool).live, CREW_MAX * k);
    REQUIRE(cpool_alloc(pool) == NULL);
    support_door_open(&doors[1]);
    for (int i = 0; i < CREW_MAX; i++) {
        support_join(threads[i]);
        hold_fini(&contests[i].hold);
    }
    crew_require_obtainable_here(pool);
    support_destroy_empty(pool);
}

static void everyone_competes(unsigned flags)
{
    run_contest(flags, 1, SUPPORT_COUNT(500u, 30u));
    run_contest(flags, 3, SUPPORT_COUNT(300u, 20u));
    run_contest(flags, 30, SUPPORT_COUNT(100u, 10u));
    run_contest(flags, 200, SUPPORT_COUNT(30u, 5u));
}

TEST_TIMES(alloc_of_all_slots_by_all_threads_at_once_succeeds, CREW_VARIANTS)
{
    crew_run_variant(_i, everyone_competes);
}
