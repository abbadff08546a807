/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_lease_fork.c - a process forks while a thread stands still at any step of an
 * alloc under a lease, or of the lease's end.
 *
 * Includes steps.h.
 */
#include "steps.h" /* first: it says which system interfaces are wanted */

#include <sys/wait.h>
#include <unistd.h>

#include "party.h"

/* An end looks at each slot in the pools that come after WHOLE of them. */
enum { WHOLE = 2 };

/* --- A fork beside the end --- */

static void end(void *argument)
{
    struct party *party = argument;

    party->got = cpool_lease_end(party->lease);
}

/* The lease is open in the child, or its slots are free. */
static void end_in_child(void *argument)
{
    struct party *party = argument;

    steps_allow(0);
    support_capture_reports();
    REQUIRE(cpool_lease_end(party->lease) == 3 * ROUNDS + 1 ||
            support_stats(party->pool).live == 0);
    support_release_reports();
    support_require_live(party->pool, 0);
    REQUIRE(support_stats(party->pool).thread_caches <= 2);
    support_require_obtainable(party->pool, 0);
}

/* The slots that were not given back yet stay live, and none is there twice.  A thread that
 * vanished in the free of one that had waited may have had two magazines in its hands. */
static void take_rest_in_child(void *argument)
{
    struct party *party = argument;
    bool taken[4 * CAPACITY] = {false};
    size_t count = 0;
    void *slot;

    steps_allow(0);
    support_capture_reports();
    (void)cpool_lease_end(party->lease);
    support_release_reports();
    for (; (slot = cpool_alloc(party->pool)) != NULL; count++) {
        size_t index = cpool_index(party->pool, slot);

        REQUIRE(index < 4 * CAPACITY && !taken[index]);
        taken[index] = true;
    }
    REQUIRE(count + 3 * ROUNDS + 1 + 2 * ROUNDS >= CAPACITY);
}

static bool fork_beside_end(int mode, struct worker *worker, size_t nth)
{
    struct party party = begin(modes[mode], worker, 3 * ROUNDS);
    struct steps_stop stop;
    bool stopped;

    REQUIRE(cpool_lease_alloc(party.lease) != NULL);
    stopped = steps_run(&stop, worker, NULL, nth, end, &party);
    support_in_child(mode < WHOLE ? end_in_child : take_rest_in_child, &party);
    steps_go_on(&stop);
    REQUIRE_EQUAL(party.got, 3 * ROUNDS + 1);
    support_require_obtainable(party.pool, 0);
    support_destroy_empty(party.pool);
    return stopped;
}

START_TEST(fork_beside_an_end_loses_no_slot)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (fork_beside_end(_i, worker, nth))
        nth++;
    REQUIRE(nth > 1);
    worker_stop(worker);
}
END_TEST

/* --- A fork beside an alloc --- */

/* The thread that vanished was inside, and left its loaded magazine behind. */
enum { LEFT_BEHIND = 3 * ROUNDS };

/* The slot of the alloc is the lease's or free, and was not freed twice. */
static void end_after_alloc(void *argument)
{
    struct party *party = argument;
    size_t slots;

    steps_allow(0);
    support_capture_reports();
    slots = cpool_lease_end(party->lease);
    REQUIRE_NO_REPORT();
    REQUIRE(slots >= 1 && slots <= 4 * ROUNDS + 2);
    for (slots = 0; cpool_alloc(party->pool) != NULL; slots++)
        ;
    REQUIRE_NO_REPORT();
    REQUIRE(slots + LEFT_BEHIND >= CAPACITY && slots <= CAPACITY);
    support_release_reports();
}

static bool fork_beside_alloc(unsigned flags, struct worker *worker, size_t nth)
{
    struct party party = begin(flags, worker, 3 * ROUNDS);
    struct steps_stop stop;
    bool stopped;

    REQUIRE(cpool_lease_alloc(party.lease) != NULL);
    party.wanted = ROUNDS + 1; /* across the edge of a magazine */
    stopped = steps_run(&stop, worker, NULL, nth, take, &party);
    support_in_child(end_after_alloc, &party);
    steps_go_on(&stop);
    REQUIRE_EQUAL(party.got, 4 * ROUNDS + 1);
    REQUIRE_EQUAL(cpool_lease_end(party.lease), 4 * ROUNDS + 2);
    support_require_obtainable(party.pool, 0);
    support_destroy_empty(party.pool);
    return stopped;
}

START_TEST(fork_beside_an_alloc_leaves_a_slot_that_is_leased_or_free)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (fork_beside_alloc(modes[_i], worker, nth))
        nth++;
    REQUIRE(nth > 5);
    worker_stop(worker);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(fork_beside_an_alloc_leaves_a_slot_that_is_leased_or_free, MODES),
        TIMES(fork_beside_an_end_loses_no_slot, MODES),
    };

    return SUPPORT_RUN("steps_lease_fork", tests);
}
