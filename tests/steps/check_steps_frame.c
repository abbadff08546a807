/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_frame.c - a thread stops at every step of an alloc in a frame, of a reset and of an
 * end, and the process forks, another thread takes all that it can have, or waits for a slot.
 */
#include "steps.h" /* first: it says which system interfaces are wanted */

#include <sched.h>
#include <stdatomic.h>

#include <cpool/frame.h>

#include "inside.h"
#include "inside_wait.h"

enum { CAPACITY = 64, ROUNDS = 4 };

/* Slots that the frame has: two magazines and a half, and one adopted. */
enum { TAKEN = 2 * ROUNDS + ROUNDS / 2 + 1 };

/* Where a thread vanishes: its loaded magazine, two in its hands, and one of the frame's. */
enum { LEFT_BEHIND = 4 * ROUNDS };

static const unsigned modes[] = {0, CPOOL_TRACKED, CPOOL_CHECKED};

#define MODES (sizeof modes / sizeof modes[0])

struct party {
    cpool_t *pool;
    cpool_frame_t *frame;
    size_t wanted;
    size_t got;
};

static void take(void *argument)
{
    struct party *party = argument;

    for (size_t i = 0; i < party->wanted; i++)
        party->got += cpool_frame_alloc(party->frame) != NULL;
}

static void adopt(void *argument)
{
    struct party *party = argument;

    REQUIRE_EQUAL(cpool_frame_adopt(party->frame, cpool_alloc(party->pool)), 0);
}

static void reset(void *argument)
{
    struct party *party = argument;

    cpool_frame_reset(party->frame);
}

static void end(void *argument)
{
    struct party *party = argument;

    cpool_frame_end(party->frame);
}

static void (*const bodies[])(void *argument) = {take, reset, end};

enum { BODIES = sizeof bodies / sizeof bodies[0] };

/* A worker has so many slots in a frame. */
static struct party begin(unsigned flags, struct worker *worker, size_t taken)
{
    cpool_t *pool = steps_pool(flags, CAPACITY, 0, ROUNDS);
    struct party party = {pool, NULL, taken - 1, 0};

    REQUIRE_EQUAL(cpool_frame_begin(&party.frame, pool), 0);
    worker_do(worker, take, &party);
    worker_do(worker, adopt, &party);
    party.wanted = 2 * ROUNDS;
    party.got = 0;
    return party;
}

/* Takes all that can be had, each slot once.  Returns how many. */
static size_t take_all(cpool_t *pool, void **slots)
{
    bool taken[CAPACITY] = {false};
    size_t count = 0;
    void *slot;

    for (; (slot = cpool_alloc(pool)) != NULL; count++) {
        size_t index = cpool_index(pool, slot);

        REQUIRE(index < CAPACITY && !taken[index]);
        taken[index] = true;
        if (slots != NULL)
            slots[count] = slot;
    }
    return count;
}

/* --- Forks --- */

/* The slots are the frame's, free, or lost to the thread that has vanished. */
static void end_and_take_in_child(void *argument)
{
    struct party *party = argument;
    size_t slots;

    steps_allow(0);
    support_capture_reports();
    if (party->frame->pool != NULL)
        cpool_frame_end(party->frame);
    slots = take_all(party->pool, NULL);
    REQUIRE(slots <= CAPACITY && slots + LEFT_BEHIND >= CAPACITY);
    REQUIRE_NO_REPORT();
    support_release_reports();
}

static bool fork_beside(unsigned flags, void (*body)(void *argument), size_t taken,
                        struct worker *worker, size_t nth)
{
    struct party party = begin(flags, worker, taken);
    struct steps_stop stop;
    bool stopped = steps_run(&stop, worker, NULL, nth, body, &party);

    support_in_child(end_and_take_in_child, &party);
    steps_go_on(&stop);
    if (body != end)
        cpool_frame_end(party.frame);
    support_destroy_whole(party.pool);
    return stopped;
}

TEST_TIMES(frame_fork_leaves_each_slot_in_one_place, 2 * MODES * BODIES)
{
    size_t taken = _i % 2 == 0 ? TAKEN : 2; /* which have room in the loaded magazine */

    STEPS_SWEEP(fork_beside(modes[_i / 2 / BODIES], bodies[_i / 2 % BODIES], taken, worker, nth), 1,
                3);
}

/* --- Other threads --- */

/* Another thread has some of the slots while they go back, and each of them once. */
static bool take_beside(unsigned flags, void (*body)(void *argument), struct worker *worker,
                        size_t nth)
{
    struct party party = begin(flags, worker, TAKEN);
    void *slots[CAPACITY];
    struct steps_stop stop;
    bool stopped = steps_run(&stop, worker, NULL, nth, body, &party);
    size_t got = take_all(party.pool, slots);

    REQUIRE(got + TAKEN + party.wanted + LEFT_BEHIND >= CAPACITY);
    steps_go_on(&stop);
    if (body != end)
        cpool_frame_end(party.frame);
    support_require_live(party.pool, got);
    for (size_t i = 0; i < got; i++)
        cpool_free(party.pool, slots[i]);
    support_destroy_whole(party.pool);
    return stopped;
}

TEST_TIMES(frame_end_gives_others_each_slot_once, MODES * BODIES)
{
    STEPS_SWEEP(take_beside(modes[_i / BODIES], bodies[_i % BODIES], worker, nth), 1, 5);
}

/* A thread that has all slots destroys the pool, while an end that has given some of them returns.
 * The next pool has its frames in the same place. */
static bool destroy_beside(struct worker *worker, size_t nth)
{
    cpool_t *pool = steps_pool(0, CAPACITY, 0, ROUNDS);
    struct party party = {pool, NULL, 2, 0};
    cpool_frame_t *frames[2];
    struct steps_stop stop;
    bool stopped;
    bool all;

    REQUIRE_EQUAL(cpool_frame_begin(&party.frame, pool), 0);
    worker_do(worker, take, &party);
    stopped = steps_run(&stop, worker, NULL, nth, end, &party);
    all = take_all(pool, NULL) == CAPACITY;
    if (all) {
        support_destroy(pool);
        pool = steps_pool(0, CAPACITY, 0, ROUNDS);
        REQUIRE_EQUAL(cpool_frame_begin(&frames[0], pool), 0);
        REQUIRE(frames[0] == party.frame);
    }
    steps_go_on(&stop);
    if (all) {
        REQUIRE_EQUAL(cpool_frame_begin(&frames[1], pool), 0);
        REQUIRE(frames[0] != frames[1] && frames[0]->pool == pool);
    }
    support_destroy(pool);
    REQUIRE(stopped || all);
    return stopped;
}

TEST(frame_end_leaves_a_destroyed_pool_alone)
{
    STEPS_SWEEP(destroy_beside(worker, nth), 1, 3);
}

/* --- Waiters --- */

struct sleeper {
    cpool_t *pool;
    pthread_t thread;
    _Atomic bool over;
};

static void *wait_for_slot(void *argument)
{
    struct sleeper *sleeper = argument;
    void *slot = cpool_alloc_wait(sleeper->pool, NULL);

    atomic_store(&sleeper->over, true);
    return slot;
}

/* Starts one that sleeps, unless it finds a slot.  It does not look by itself any more. */
static void start_sleeper(void *argument)
{
    struct sleeper *sleeper = argument;

    sleeper->thread = support_start(wait_for_slot, sleeper);
    while (support_stats(sleeper->pool).waits == 0 && !atomic_load(&sleeper->over))
        sched_yield();
    if (!atomic_load(&sleeper->over))
        inside_await_hunger(sleeper->pool);
}

static bool wait_within(void (*body)(void *argument), size_t first, size_t nth)
{
    cpool_t *pool = steps_pool(0, CAPACITY, 0, ROUNDS);
    struct party party = {pool, NULL, first, 0};
    struct sleeper sleeper = {.pool = pool};
    bool done;
    void *slot;

    REQUIRE_EQUAL(cpool_frame_begin(&party.frame, pool), 0);
    take(&party);
    while (cpool_alloc(pool) != NULL)
        ;
    steps_plan(NULL, nth, start_sleeper, &sleeper);
    body(&party);
    done = steps_drop();
    if (done) {
        REQUIRE_EQUAL(pthread_join(sleeper.thread, &slot), 0);
        REQUIRE(slot != NULL);
    }
    if (body != end)
        end(&party);
    support_require_live(pool, CAPACITY - first + done);
    support_destroy(pool);
    return done;
}

TEST_TIMES(frame_end_gives_a_slot_to_a_waiter_that_comes, 6)
{
    static const size_t counts[] = {1, ROUNDS, TAKEN};
    size_t nth = 1;

    while (wait_within(bodies[1 + _i % 2], counts[_i / 2], nth))
        nth++;
    REQUIRE(nth > 5);
}
