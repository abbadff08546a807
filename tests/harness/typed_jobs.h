/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * typed_jobs.h - what the tests of bounded typed pools share.
 *
 * JOBS_DECLARE and JOBS_DEFINE say which kind of pool `jobs` is, so that the functions here call
 * its own inline path.  Includes support.h.
 */
#ifndef CPOOL_TESTS_TYPED_JOBS_H
#define CPOOL_TESTS_TYPED_JOBS_H

#include "support.h"

enum { CAPACITY = 40, ROUNDS = 5 };

struct job {
    intptr_t number;
    char text[64 - sizeof(intptr_t)]; /* so that twice its size is an alignment */
};

JOBS_DECLARE(jobs, struct job);
JOBS_DEFINE(jobs, struct job, .capacity = CAPACITY, .magazine_rounds = ROUNDS);

static inline void jobs_close_empty(void)
{
    support_require_live(jobs_pool(), 0);
    REQUIRE_EQUAL(jobs_close(), CPOOL_OK);
}

/* Takes all that there is, returns how many those were, and gives them back. */
static inline size_t jobs_take_all(void)
{
    struct job *held[CAPACITY + 1];
    size_t n = 0;

    while ((held[n] = jobs_alloc()) != NULL)
        REQUIRE(++n <= CAPACITY);
    for (size_t i = 0; i < n; i++)
        jobs_free(held[i]);
    return n;
}

/* The slots behind the last one that was taken are refused, though the magazine has room. */
static inline void jobs_require_refusal_beyond(void)
{
    struct job *job = jobs_alloc();
    size_t taken = support_stats(jobs_pool()).circulating;

    support_capture_reports();
    for (size_t i = taken; i < taken + 3; i++) {
        jobs_free((struct job *)jobs_at(i));
        REQUIRE_REPORT(CPOOL_EUNUSED);
    }
    support_release_reports();
    support_require_live(jobs_pool(), 1);
    jobs_free(job);
}

/* All of the capacity is served, and no more. */
static inline void jobs_require_bound(void)
{
    jobs_require_refusal_beyond();
    for (int round = 0; round < 3; round++)
        REQUIRE_EQUAL(jobs_take_all(), CAPACITY);
    REQUIRE_EQUAL(support_stats(jobs_pool()).circulating, CAPACITY);
    jobs_free(NULL);
    jobs_close_empty();
}

#endif /* CPOOL_TESTS_TYPED_JOBS_H */
