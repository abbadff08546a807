/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress.h - what every file of the stress program shares: modes, episodes,
 * and the one way to fail.
 *
 * Includes tests/harness/random.h.  Each file may include those above it in this list, never
 * those below:
 *
 *   build.h               which sanitizer
 *   sync.h                queue and barrier
 *   stress.h  report.c    episode, mode, failure
 *   stamp.h   stamp.c     the oracle: what every slot must contain
 *   arena.h   arena.c     a pool under test, and its audit
 *   worker.h  worker.c    threads, and what they do with slots
 *   disturb.h disturb.c   signals into running threads
 *   board.h               slots that change hands
 *   mode_*.c              one file per way of using a pool
 *   main.c                arguments, schedule, summary
 *
 * A mode runs as many episodes as fit into its share of the time.  An episode creates its pools
 * from its own seed, lets threads use them for some ten to some hundred milliseconds, waits for the
 * threads, and audits what is left.  Time only limits how long threads loop.  Nothing fails for
 * being slow.
 */
#ifndef STRESS_STRESS_H
#define STRESS_STRESS_H

#include "../tests/harness/random.h"

#include <stdio.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sums of the episodes of one mode, for the summary. */
struct tally {
    uint64_t episodes;
    uint64_t operations; /* slots taken and slots given back */
    uint64_t dry;        /* allocations that got nothing */
    uint64_t exchanges;  /* from the statistics of the pools that were audited */
};

/* One run of one mode.  Only the main thread writes it, except `stop`. */
struct episode {
    const struct mode *mode;
    uint64_t seed;
    unsigned int threads;      /* 2 or more */
    uint64_t nanoseconds;      /* for which the threads are to run */
    uint64_t random;           /* the main thread's, for choices of the whole episode */
    struct tally *tally;
    _Atomic bool stop;         /* set when the time is up, and read by all
                                  threads.  Relaxed: it publishes nothing */
};

/* A way of using pools. */
struct mode {
    const char *name;
    const char *purpose;
    void (*run)(struct episode *episode);
    void (*prepare)(void);   /* NULL, or called once, before any pool is made */
    const char *unavailable; /* NULL, or why this build cannot run it */
};

static inline bool episode_over(struct episode *episode)
{
    return atomic_load_explicit(&episode->stop, memory_order_relaxed);
}

extern const struct mode mode_bound;
extern const struct mode mode_same;
extern const struct mode mode_pairs;
extern const struct mode mode_crowd;
extern const struct mode mode_churn;
extern const struct mode mode_bulk;
extern const struct mode mode_mixed;
extern const struct mode mode_caches;
extern const struct mode mode_depot;
extern const struct mode mode_fork;
extern const struct mode mode_recall;
extern const struct mode mode_lifecycle;
extern const struct mode mode_transfer;
extern const struct mode mode_checked;
extern const struct mode mode_memory;
extern const struct mode mode_objects;
extern const struct mode mode_wait;
extern const struct mode mode_frame;
extern const struct mode mode_full;
extern const struct mode mode_tracked;
extern const struct mode mode_lanes;
extern const struct mode mode_sized;
extern const struct mode mode_priority;
extern const struct mode mode_typed;
extern const struct mode mode_retire;

/*
 * ---- Failure (report.c) ----------------------------------------------------
 */

/* Prepares the reports: how to call this program again, and the reactions to
 * mistakes that the library reports and to crashes. */
void report_init(const char *program, double seconds);

/* Sets the episode that later reports name. */
void report_episode(const struct episode *episode);

#if defined(_WIN32) && !defined(__clang__) /* where printf would be the C library's own */
#define STRESS_PRINTF __attribute__((__format__(__gnu_printf__, 1, 2)))
#else
#define STRESS_PRINTF __attribute__((__format__(__printf__, 1, 2)))
#endif

/*
 * stress_fail - reports what is wrong and how to run it again, and ends the program with status 1.
 * Any thread.  Only the first thread that fails reports.
 */
_Noreturn void stress_fail(const char *format, ...) STRESS_PRINTF;

/* Calls stress_fail with the condition and its place unless the condition holds. */
#define STRESS_REQUIRE(condition)                                                             \
    ((condition) ? (void)0 : stress_fail("%s:%d: violated: %s", __FILE__, __LINE__, #condition))

/*
 * report_expect - announces that the calling thread is about to make a mistake
 * on purpose, which the library must report with this code.
 * report_expected_came - whether it has done so.  The announcement ends.
 */
void report_expect(int code);
bool report_expected_came(void);

/* In a child process: failures are prefixed, and end only the child. */
void report_in_child(void);

#endif /* STRESS_STRESS_H */
