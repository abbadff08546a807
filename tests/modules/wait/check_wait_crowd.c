/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_wait_crowd.c - more threads than slots: no waiter is forgotten, for any
 * actions of the others on the pool.
 */
#include "crew.h"
#include "waiter.h"

#include <sched.h>
#include <stdatomic.h>

enum { CROWD = 8 };

struct guest {
    cpool_t *pool;
    _Atomic size_t *live;
    size_t capacity;
    size_t turns;
    uint64_t random;
    bool restless;
};

/* Other actions of a thread on the pool while others wait. */
static void do_something_else(struct guest *guest)
{
    switch (random_below(&guest->random, 16)) {
    case 0:
        cpool_flush(guest->pool);
        break;
    case 1:
        cpool_trim(guest->pool);
        break;
    case 2:
        cpool_free_uncached(guest->pool, cpool_alloc_uncached(guest->pool));
        break;
    case 3:
        cpool_free(guest->pool, cpool_alloc(guest->pool));
        break;
    case 4:
        cpool_grow(guest->pool, cpool_shrink(guest->pool, 1));
        break;
    default:
        break;
    }
}

static void *wait_for_turn(struct guest *guest)
{
    const struct timespec instant = { 0, 20000 };
    void *slot = NULL;

    if (guest->restless && random_below(&guest->random, 4) == 0)
        while ((slot = cpool_alloc_wait(guest->pool, &instant)) == NULL)
            ;
    else
        slot = cpool_alloc_wait(guest->pool, NULL);
    return slot;
}

static void *visit(void *argument)
{
    struct guest *guest = argument;
    struct hold hold = hold_of(guest->pool);

    for (size_t turn = 0; turn < guest->turns; turn++) {
        void *slot = wait_for_turn(guest);

        REQUIRE(slot != NULL);
        /* relaxed: raised after the alloc and lowered before the free, so it
         * never tells too many, and no other data goes with it. */
        REQUIRE(atomic_fetch_add_explicit(guest->live, 1, memory_order_relaxed) <
                guest->capacity);
        hold_add(&hold, slot);
        if (random_below(&guest->random, 4) == 0)
            sched_yield();
        atomic_fetch_sub_explicit(guest->live, 1, memory_order_relaxed);
        hold_free_all(&hold);
        if (guest->restless)
            do_something_else(guest);
    }
    hold_fini(&hold);
    return NULL;
}

/* Threads come and go, too: as many rounds, each with new threads. */
static void crowd(unsigned flags, size_t capacity, size_t turns, bool restless)
{
    cpool_t *pool = waiter_pool(flags, capacity);
    struct guest guests[CROWD];
    pthread_t threads[CROWD];
    _Atomic size_t live = 0;

    for (size_t round = 0; round < SUPPORT_COUNT(6u, 2u); round++) {
        for (size_t i = 0; i < CROWD; i++) {
            guests[i].pool = pool;
            guests[i].live = &live;
            guests[i].capacity = capacity;
            guests[i].turns = turns;
            guests[i].random = i + 1 + round * CROWD;
            guests[i].restless = restless;
            threads[i] = support_start(visit, &guests[i]);
        }
        for (size_t i = 0; i < CROWD; i++)
            support_join(threads[i]);
    }
    REQUIRE_EQUAL(support_stats(pool).capacity, capacity);
    support_destroy_whole(pool);
}

static void crowds(void *argument)
{
    unsigned flags = *(const unsigned *)argument;
    size_t turns = SUPPORT_COUNT(200u, 40u);

    crowd(flags, 1, turns, false);
    crowd(flags, 3, turns, false);
    crowd(flags, CROWD - 1, turns, false);
    crowd(flags, 2, turns, true);
    crowd(flags, CROWD - 1, turns, true);
}

/* It ends: that is what is tested. */
TEST_TIMES(wait_by_more_threads_than_slots_ends_for_all, 4)
{
    unsigned flags = _i % 2 == 0 ? 0 : CPOOL_CHECKED;

    if (_i < 2)
        crowds(&flags);
    else
        crew_without_barrier(crowds, &flags);
}
