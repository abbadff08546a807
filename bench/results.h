/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * results.h - all answers of a run, and the figures made of them.
 *
 * Includes cell.h and plan.h.  Answers are kept individually.  Medians, spreads and ratios are
 * computed when a report asks for them.
 */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include "cell.h"
#include "plan.h"

/* If the spread exceeds this share of the median, the line was disturbed. */
#define RESULTS_SPREAD_MAX 0.15

struct results {
    struct plan *plan; /* a line may lose repetitions while it is run */
    struct contestant *contestants;
    size_t contestant_count;
    struct cell_answer *answers; /* [line][contestant][repetition] */
};

struct summary {
    enum cell_status status; /* of the first repetition that was not done */
    const char *text;        /* why, when it is not CELL_DONE */
    unsigned samples;
    double median, low, high; /* low and high: the quartiles */
    double spread;            /* (high - low) / median */
    bool disturbed;           /* preempted, robbed of time, or spread too far */
};

void results_init(struct results *results, struct plan *plan);
void results_fini(struct results *results);

struct cell_answer *results_answer(const struct results *results, size_t line, size_t contestant,
                                   unsigned repetition);

/* How many repetitions a line has. */
unsigned results_repetitions(const struct results *results, size_t line);

/* Whether a cell lost time to other programs, or to other machines. */
bool results_was_disturbed(const struct cell_answer *answer);

/* A contestant's figure for a metric on a line. */
struct summary results_summary(const struct results *results, size_t line, size_t contestant,
                               const char *metric);

/*
 * How many times longer `contestant` takes than `reference`: the median of the ratios of single
 * repetitions, in which one ran shortly after the other, so that a slow drift of the machine
 * cancels out. 0 if either is missing.
 */
double results_ratio(const struct results *results, size_t line, size_t contestant,
                     size_t reference, const char *metric);

/* The contestant of that name, or contestant_count. */
size_t results_find(const struct results *results, const char *name);

/* Whether it is a rival: neither libcpool nor the limit of the machine. */
bool results_is_peer(const struct results *results, size_t contestant);

/* The peer with the smallest median, or contestant_count when there is none. */
size_t results_best_peer(const struct results *results, size_t line, const char *metric);

#endif /* BENCH_RESULTS_H */
