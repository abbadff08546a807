/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_lease.c - a thread stops at every step of an alloc under a lease, and
 * another one ends the lease, steals from it, or forks meanwhile.
 *
 * Includes steps.h, and pool_impl.h to see what forks leave behind.
 */
#include "steps.h" /* first: it says which system interfaces are wanted */

#include <cpool/lease.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inside.h"

enum { CAPACITY = 64, ROUNDS = 4 };

static const unsigned modes[] = {0, CPOOL_EXACT, CPOOL_CHECKED};

#define MODES (sizeof modes / sizeof modes[0])

struct party {
    cpool_t *pool;
    cpool_lease_t *lease;
    size_t wanted;
    size_t got;
};

static void take(void *argument)
{
    struct party *party = argument;
    size_t i;

    for (i = 0; i < party->wanted; i++)
        party->got += cpool_lease_alloc(party->lease) != NULL;
}

/* A party that has taken so many slots under a new lease. */
static struct party begin(unsigned flags, struct worker *worker, size_t first)
{
    cpool_t *pool = steps_pool(flags, CAPACITY, 0, ROUNDS);
    struct party party = {pool, cpool_lease_begin(pool), first, 0};

    REQUIRE(party.lease != NULL);
    worker_do(worker, take, &party);
    REQUIRE_EQUAL(party.got, first);
    party.wanted = 1;
    return party;
}

static void resume(void *stop)
{
    steps_resume(stop);
}

/* The second time that the end may have to wait, a lock it is or the worker. */
static bool end_beside(unsigned flags, struct worker *worker, size_t nth)
{
    struct party party = begin(flags, worker, ROUNDS);
    struct steps_stop stop;
    size_t reports;
    bool stopped;

    support_capture_reports();
    stopped = steps_run(&stop, worker, NULL, nth, take, &party);
    steps_plan(STEPS_LOCK, 2, resume, &stop);
    REQUIRE(cpool_lease_end(party.lease) >= ROUNDS);
    if (!steps_drop())
        steps_resume(&stop);
    worker_await(worker);
    reports = support_take_reports(NULL);
    REQUIRE(stopped || reports == 0);
    REQUIRE(party.got == ROUNDS + 1 || reports > 0);
    support_release_reports();
    if ((flags & CPOOL_CHECKED) == 0) {
        support_require_live(party.pool, 0);
        support_require_obtainable(party.pool, 0);
    }
    support_destroy(party.pool);
    return stopped;
}

START_TEST(end_beside_an_alloc_leaves_the_pool_whole)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (end_beside(modes[_i], worker, nth))
        nth++;
    REQUIRE(nth > 10);
    worker_stop(worker);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(end_beside_an_alloc_leaves_the_pool_whole, MODES),
    };

    return SUPPORT_RUN("steps_lease", tests);
}
