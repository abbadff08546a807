/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * party.h - a worker that allocates under a lease, and stops on the way.
 *
 * Includes steps.h.
 */
#ifndef CPOOL_TESTS_PARTY_H
#define CPOOL_TESTS_PARTY_H

#include "steps.h"

#include <cpool/lease.h>

#include "inside.h"

enum { CAPACITY = 64, ROUNDS = 4 };

static const unsigned modes[] = {0, CPOOL_EXACT, CPOOL_CHECKED, CPOOL_TRACKED};

#define MODES (sizeof modes / sizeof modes[0])

struct party {
    cpool_t *pool;
    cpool_lease_t *lease;
    size_t wanted;
    size_t got;
};

static inline void take(void *argument)
{
    struct party *party = argument;

    for (size_t i = 0; i < party->wanted; i++)
        party->got += cpool_lease_alloc(party->lease) != NULL;
}

/* A party that has taken so many slots under a new lease. */
static inline struct party begin(unsigned flags, struct worker *worker, size_t first)
{
    cpool_t *pool = steps_pool(flags, CAPACITY, 0, ROUNDS);
    struct party party = {pool, cpool_lease_begin(pool), first, 0};

    REQUIRE(party.lease != NULL);
    worker_do(worker, take, &party);
    REQUIRE_EQUAL(party.got, first);
    /* The common one, and the worker's: without that it would stand still at other steps. */
    REQUIRE_EQUAL(support_stats(pool).thread_caches, 2);
    party.wanted = 1;
    return party;
}

/* The thread that stands still may have to fork, as a signal handler. */
static inline void resume(void *stop)
{
    REQUIRE(!cpi_lock_is_held());
    steps_resume(stop);
}

/* Ends the lease beside the worker, again if that is refused, and returns how many slots went
 * back. */
static inline size_t end_at_last(const struct party *party, struct steps_stop *stop,
                          struct worker *worker)
{
    size_t ended;

    steps_plan(STEPS_LOCK, 2, resume, stop);
    ended = cpool_lease_end(party->lease);
    if (!steps_drop())
        steps_resume(stop);
    worker_await(worker);
    return ended != 0 ? ended : cpool_lease_end(party->lease);
}

#endif /* CPOOL_TESTS_PARTY_H */
