/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_owner.c - the owner of a cache stops at every access of its allocs, its frees and
 * its flushes, inline and out of line, while its entry is open, and while it is closed and opened
 * again.  Meanwhile other threads take all that they can have, wait, ask for a notice, or trim.
 */
#include "script.h" /* first: it says which system interfaces are wanted */

#include <stdatomic.h>
#include <time.h>

#include "crew.h"
#include "inside_wait.h"
#include "meeting.h"

/* What the owner finds: fresh slots, all in the depot and its entry closed for long, or just
 * closed. */
enum state { FRESH, USED_UP, CLOSED, STATES };

/* One sweep. */
struct sweep {
    bool (*at)(const struct sweep *sweep, size_t nth); /* false if there are fewer steps */
    const struct script_door *door;
    enum state state;
    struct worker *owner;
    struct worker *other;
};

/* The owner stands still at its nth step. */
static bool begin(const struct sweep *sweep, struct script *script, struct steps_stop *stop,
                  size_t nth)
{
    bool stopped;

    script_init(script, SCRIPT_CAPACITY, sweep->door, sweep->owner);
    if (sweep->state != FRESH)
        script_use_up_fresh(script);
    if (sweep->state == CLOSED) {
        worker_do(sweep->owner, script_begin, script);
        script_close_entries(script);
    }
    stopped = steps_run(stop, sweep->owner, NULL, nth, script_play, script);
    script->hands = script_count_hands(script->pool);
    return stopped;
}

static void sweep_all(const struct sweep *shape)
{
    struct sweep sweep = *shape;

    sweep.owner = worker_start();
    sweep.other = worker_start();
    for (int state = FRESH; state < STATES; state++) {
        size_t nth = 1;

        sweep.state = (enum state)state;
        while (sweep.at(&sweep, nth))
            nth += SUPPORT_COUNT(1u, 17u);
        REQUIRE(nth > 100);
    }
    worker_stop(sweep.owner);
    worker_stop(sweep.other);
}

static void sweep_body(void *sweep)
{
    sweep_all(sweep);
}

/* Each door, with the kernel's barrier and without. */
enum { SWEEPS = 2 * SCRIPT_DOORS };

static void sweep_variant(bool (*at)(const struct sweep *sweep, size_t nth), int variant)
{
    struct sweep sweep = { .at = at, .door = &script_doors[variant % SCRIPT_DOORS] };

    if (variant < SCRIPT_DOORS)
        sweep_body(&sweep);
    else
        crew_without_barrier(sweep_body, &sweep);
}

/* A test of each variant.  What follows does it at one step, and returns false if there are
 * fewer. */
#define TEST_SWEEP(name)                                                                     \
    static bool name##_at(const struct sweep *sweep, size_t nth);                            \
    TEST_TIMES(name, SWEEPS)                                                                 \
    {                                                                                        \
        sweep_variant(name##_at, _i);                                                        \
    }                                                                                        \
    static bool name##_at(const struct sweep *sweep, size_t nth)

/* All but what the stopped operation has in its hands, and no more.  What the owner does
 * afterwards loses nothing. */
TEST_SWEEP(owner_stopped_anywhere_hides_what_it_has_in_its_hands)
{
    struct steps_stop stop;
    struct script script;
    bool stopped = begin(sweep, &script, &stop, nth);
    size_t in_sight;

    script_take_more(&script);
    in_sight = script.count + script.more_count;
    REQUIRE(in_sight <= SCRIPT_CAPACITY);
    REQUIRE(in_sight + script_in_transit(&script) + script.hands * SCRIPT_ROUNDS >=
            SCRIPT_CAPACITY);
    REQUIRE(script.hands > 0 || support_stats(script.pool).stalls == 0);
    if (in_sight + script_in_transit(&script) < SCRIPT_CAPACITY) { /* told each time */
        REQUIRE(cpool_alloc(script.pool) == NULL);
        REQUIRE_EQUAL(support_stats(script.pool).stalls, 2);
    }
    steps_go_on(&stop);
    script_fini(&script);
    return stopped;
}

/* All is live, or in the owner's hands.  It goes on to free all that it has, which the waiter
 * learns of. */
TEST_SWEEP(waiter_beside_an_owner_stopped_anywhere_gets_what_it_frees)
{
    struct meeting_second waiting = { .over = false };
    struct steps_stop stop;
    struct script script;
    bool stopped = begin(sweep, &script, &stop, nth);

    waiting.pool = script.pool;
    inside(script.pool)->waiters.starving_after = UINT64_MAX / 4; /* no look before */
    if (stopped)
        script_take_more(&script);
    if (script.more_count == SCRIPT_CAPACITY) /* the owner has nothing left to free */
        cpool_free(script.pool, script.more[--script.more_count]);
    worker_begin(sweep->other, meeting_wait_too, &waiting);
    meeting_await_second(&waiting);
    steps_go_on(&stop);
    worker_await(sweep->other);
    REQUIRE(waiting.slot != NULL);
    cpool_free(script.pool, waiting.slot);
    script_fini(&script);
    return stopped;
}

struct asking {
    cpool_t *pool;
    void *slot;
    _Atomic unsigned notices;
};

static void count_notice(cpool_t *pool, void *argument)
{
    struct asking *asking = argument;

    (void)pool;
    atomic_fetch_add(&asking->notices, 1u);
}

static void ask(void *argument)
{
    struct asking *asking = argument;

    asking->slot = cpool_alloc_or_notify(asking->pool);
}

/* The same with a notice, before which the call waits for an owner that is inside. */
TEST_SWEEP(notice_beside_an_owner_stopped_anywhere_comes)
{
    static const struct timespec a_while = { 0, 200000 };
    struct steps_stop stop;
    struct script script;
    bool stopped = begin(sweep, &script, &stop, nth);
    struct asking asking = { script.pool, NULL, 0 };

    REQUIRE_EQUAL(cpool_set_ready(script.pool, count_notice, &asking), 0);
    if (stopped)
        script_take_more(&script);
    if (script.more_count == SCRIPT_CAPACITY)
        cpool_free(script.pool, script.more[--script.more_count]);
    worker_begin(sweep->other, ask, &asking);
    REQUIRE_EQUAL(nanosleep(&a_while, NULL), 0);
    steps_go_on(&stop);
    worker_await(sweep->other);
    REQUIRE(asking.slot != NULL || asking.notices > 0);
    cpool_free(script.pool, asking.slot);
    script_fini(&script);
    return stopped;
}

TEST_SWEEP(trim_beside_an_owner_stopped_anywhere_loses_nothing)
{
    struct steps_stop stop;
    struct script script;
    bool stopped = begin(sweep, &script, &stop, nth);

    (void)cpool_trim(script.pool);
    steps_go_on(&stop);
    script_fini(&script);
    return stopped;
}

enum { FEW = SCRIPT_ROUNDS };

struct taker {
    cpool_t *pool;
    void *slot;
};

static void take_one(void *argument)
{
    struct taker *taker = argument;

    taker->slot = cpool_alloc(taker->pool);
}

static void free_and_take(void *argument)
{
    struct script *script = argument;

    script_give(script, 2);
    script->door->flush(script);
    script_give(script, 1);
    if ((script->live[0] = script->door->take(script)) != NULL)
        script->door->give(script, script->live[0]);
}

static void take_few(void *script)
{
    script_take(script, FEW);
}

/* Stopped are an owner and one thread that finds the pool dry, and a second one does then.  Of the
 * slots that the owner has freed none is had twice, and the two have what they can. */
static bool contend_at(const struct sweep *sweep, size_t owners, size_t takers, bool *more)
{
    struct taker takes[2];
    struct steps_stop stops[2];
    struct script script;
    size_t free = FEW;
    bool stopped;

    script_init(&script, FEW, sweep->door, sweep->owner);
    takes[0].pool = takes[1].pool = script.pool;
    worker_do(sweep->owner, take_few, &script);
    stopped = steps_run(&stops[0], sweep->owner, NULL, owners, free_and_take, &script);
    script.hands = script_count_hands(script.pool);
    free -= script.count + script_in_transit(&script);
    *more = steps_run(&stops[1], sweep->other, NULL, takers, take_one, &takes[0]);
    take_one(&takes[1]);
    steps_go_on(&stops[1]);
    if (stopped && script.hands == 0) {
        REQUIRE(free < 1 || takes[0].slot != NULL || takes[1].slot != NULL);
        REQUIRE(free < 2 || takes[0].slot != NULL);
    }
    steps_go_on(&stops[0]);
    REQUIRE(takes[0].slot == NULL || takes[0].slot != takes[1].slot);
    for (int i = 0; i < 2; i++)
        if (takes[i].slot != NULL)
            script.more[script.more_count++] = takes[i].slot;
    script_fini(&script);
    return stopped;
}

/* While one that finds the depot empty stands still as it closes entries, an owner uses its own,
 * which it finds closed and opens again, and stands still, too.  There are free slots all the
 * time. */
enum { FREE = 3 };

static void take_and_free(void *argument)
{
    struct script *script = argument;

    for (int i = 0; i < FREE + 1; i++) {
        void *slot = script->door->take(script);

        if (slot != NULL) /* the other one has them all in its hands */
            script->door->give(script, slot);
    }
}

static void take_all_and_free(void *argument)
{
    script_take(argument, FEW + FREE);
    script_give(argument, FREE);
}

static bool reopen_at(const struct sweep *sweep, size_t owners, size_t takers, bool *more)
{
    struct taker taker = { NULL, NULL };
    struct steps_stop stops[2];
    struct script script;
    bool stopped;

    script_init(&script, FEW + FREE, sweep->door, sweep->owner);
    taker.pool = script.pool;
    worker_do(sweep->owner, take_all_and_free, &script);
    /* First where the one that takes has seen the owner outside. */
    *more = steps_run(&stops[1], sweep->other, takers == 1 ? "take_magazine" : NULL, takers,
                      take_one, &taker);
    stopped = steps_run(&stops[0], sweep->owner, NULL, owners, take_and_free, &script);
    steps_go_on(&stops[1]);
    steps_go_on(&stops[0]);
    REQUIRE(taker.slot != NULL || support_stats(script.pool).stalls > 0);
    REQUIRE(taker.slot != NULL || (stopped && *more));
    cpool_free(script.pool, taker.slot);
    script_fini(&script);
    return stopped;
}

/* Two threads that stop, each at any of its steps. */
struct pair {
    struct sweep sweep;
    bool (*at)(const struct sweep *sweep, size_t owners, size_t takers, bool *more);
};

static bool pair_at(const struct pair *pair, size_t owners)
{
    bool more = true;
    bool stopped = pair->at(&pair->sweep, owners, 1, &more);

    for (size_t takers = 2; owners % 4 == 1 && more; takers += SUPPORT_COUNT(7u, 29u))
        stopped = pair->at(&pair->sweep, owners, takers, &more);
    return stopped;
}

static void pair_all(void *argument)
{
    struct pair *pair = argument;
    size_t owners = 1;

    pair->sweep.owner = worker_start();
    pair->sweep.other = worker_start();
    while (pair_at(pair, owners))
        owners += SUPPORT_COUNT(1u, 5u);
    REQUIRE(owners > 20);
    worker_stop(pair->sweep.owner);
    worker_stop(pair->sweep.other);
}

static void pair_variant(bool (*at)(const struct sweep *sweep, size_t owners, size_t takers,
                                    bool *more), int variant)
{
    struct pair pair = { { .door = &script_doors[variant % SCRIPT_DOORS] }, at };

    if (variant < SCRIPT_DOORS)
        pair_all(&pair);
    else
        crew_without_barrier(pair_all, &pair);
}

TEST_TIMES(two_that_find_the_pool_dry_beside_an_owner_share_what_it_frees, SWEEPS)
{
    pair_variant(contend_at, _i);
}

TEST_TIMES(owner_that_opens_beside_one_that_closes_hides_nothing, SWEEPS)
{
    pair_variant(reopen_at, _i);
}
