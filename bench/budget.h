/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * budget.h - how long a plan takes, and how it fits the time there is.
 *
 * Includes results.h only.
 */
#ifndef BENCH_BUDGET_H
#define BENCH_BUDGET_H

#include "results.h"

/* Seconds that a size of plan may take; 0: as long as it takes. */
double budget_limit(enum plan_size size);

/* Seconds that the whole plan should take, and one line of it. */
double budget_seconds(const struct results *results);
double budget_line_seconds(const struct results *results, size_t line);

/* Makes the plan's cells shorter, and then fewer, until it fits into `limit`
 * seconds or cannot be made smaller.  After plan_settle and the probes. */
void budget_fit(struct results *results, double limit);

/*
 * Before a line is run: on a machine that is slower than was reckoned with, the
 * line loses repetitions so that the rest still fits.  `elapsed` is in seconds.
 */
void budget_keep(struct results *results, size_t line, double elapsed, double limit);

#endif /* BENCH_BUDGET_H */
