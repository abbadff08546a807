/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * explorer.h - a deterministic scheduler of real threads.
 *
 * Of the threads of a run one runs at a time: the one that has the baton.  At each
 * scheduling point it goes on, or hands the baton to another thread, as the strategy
 * decides.  So a run is determined by its decisions, and can be repeated.  The order of
 * the atomic operations is explored (sequential consistency).  The effects of their
 * memory orders are tests/model's.
 *
 *   random       each decision is drawn from a generator with a seed, with a
 *                probability of switching that differs from seed to seed
 *   exhaustive   all runs with up to `bound` costly decisions, depth first.  A
 *                decision is costly if it takes the baton from a thread that
 *                could go on (a preemption), or makes a compare-and-swap fail
 *                spuriously
 *
 * Time is the run's own.  It stands still while any thread can go on, and then moves to
 * the next deadline at which a thread sleeps.  A sleep that ends by its deadline before that
 * is a preemption.  Where all threads sleep without a deadline, or wait, a wake-up was lost.
 *
 * Threads are created anew for each run and end in it, thread-specific
 * destructors included.  A failure ends the process, after it has been told and
 * how to repeat it.
 */
#ifndef EXPLORER_H
#define EXPLORER_H

#include <stdbool.h>
#include <stdint.h>

#define EXPLORER_THREADS_MAX 4

/* Once per process, before the library is used.  `program` is told in failures. */
void explorer_startup(const char *program);

/* The name of the next runs in failures, and how they are decided. */
void explorer_random(const char *scenario, uint64_t seed);
void explorer_exhaustive(const char *scenario, unsigned bound);
/* Repeats one run of an exhaustive exploration, as told by its failure. */
void explorer_repeat(const char *scenario, const char *decisions);

/* Runs `body` in threads 0 .. threads - 1, to the end of all of them. */
void explorer_run(unsigned threads, void (*body)(unsigned thread));

/* After a run: goes on to the next one, another seed or the next decisions.
 * False if an exhaustive exploration has come to its end. */
bool explorer_next(void);

/* Prints each hand-over of the baton. */
void explorer_trace(void);

/* A number below `n`, from the run's seed.  It is the same in each run of an
 * exhaustive exploration.  Not a decision. */
unsigned explorer_draw(unsigned n);

/* Called last before a fork, when no other thread runs any more until it is done. */
void explorer_before_fork(void (*hook)(void));

/* Lets the other threads run until the condition holds. */
void explorer_await(bool (*condition)(void));

/* A decision of the caller's: both ways are explored. */
bool explorer_choose(void);

/* Whether this thread of the run sleeps at a condition variable. */
bool explorer_is_asleep(unsigned thread);

/* How often a thread has begun to sleep at one. */
unsigned long explorer_sleeps(void);

/* Ends the process with a message and how to repeat the run. */
_Noreturn void explorer_fail(const char *what);

#endif /* EXPLORER_H */
