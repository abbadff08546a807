/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * budget.c - how long a plan takes, and how it fits the time there is.
 *
 * A cell takes the time it measures, a warm-up, starting a process, and making
 * the pool and the working set.  The last is what rivals differ in most; the
 * constants are means over them, rounded up.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "budget.h"

#include <string.h>

/* Of what may be measured, seconds; the rest is for cells that are repeated. */
#define FULL_LIMIT 1080.0
#define QUICK_LIMIT 105.0

/* The shortest cells and fewest repetitions that are planned. */
#define LEAST_MILLISECONDS 20u
#define LEAST_REPETITIONS 3u

/* The fewest repetitions of a line when time runs short. */
#define LAST_REPETITIONS 1u

/* Seconds: starting a process, and learning how long a tick of the clock is. */
#define START_SECONDS 0.012

/* Seconds that a rival with a program of its own takes to start (DPDK learns for
 * a tenth of a second how fast the clock is). */
#define PROGRAM_SECONDS 0.16

/* Seconds per slot that is live at once: taking it, giving it back, and the page. */
#define LIVE_SECONDS 250e-9

/* Seconds per slot of a run that is one chunk, with the pool for that. */
#define ONCE_SECONDS 50e-9

/* Cells that are measured twice because they were disturbed. */
#define REPEATED 1.1

double budget_limit(enum plan_size size)
{
    return size == PLAN_FULL ? FULL_LIMIT : size == PLAN_QUICK ? QUICK_LIMIT : 0.0;
}

/* Whether a rival has the workload; one with a program of its own may have. */
static bool has_workload(const char *name, const char *workload)
{
    const struct bench_rival *rival = cell_rival(name);
    size_t i;

    for (i = 0; rival != NULL && rival->workloads != NULL && rival->workloads[i] != NULL; i++)
        if (strcmp(rival->workloads[i]->name, workload) == 0)
            return true;
    return rival == NULL;
}

/* Whether a contestant has anything to do on a line, as far as can be told. */
static bool takes_part(const struct results *results, size_t line, size_t contestant)
{
    const struct contestant *who = &results->contestants[contestant];
    const struct plan_line *what = &results->plan->lines[line];

    return who->chosen && who->absent[0] == '\0' &&
           has_workload(who->rival, what->workload->name) &&
           (what->cell.threads == 1 || (who->traits & BENCH_SINGLE) == 0);
}

double budget_line_seconds(const struct results *results, size_t line)
{
    const struct plan_line *what = &results->plan->lines[line];
    double slots = (double)what->workload->live(&what->cell), each;
    double seconds = 0.0;
    size_t i;

    if ((what->workload->traits & BENCH_ONCE) != 0)
        each = slots * ONCE_SECONDS;
    else
        each = (double)what->cell.milliseconds * 1.2e-3 + slots * LIVE_SECONDS;
    for (i = 0; i < results->contestant_count; i++)
        if (takes_part(results, line, i))
            seconds += each + (results->contestants[i].program == NULL ? START_SECONDS
                                                                       : PROGRAM_SECONDS);
    return seconds * what->repetitions * REPEATED;
}

double budget_seconds(const struct results *results)
{
    double seconds = 0.0;
    size_t line;

    for (line = 0; line < results->plan->count; line++)
        seconds += budget_line_seconds(results, line);
    return seconds;
}

void budget_fit(struct results *results, double limit)
{
    struct plan *plan = results->plan;

    while (limit > 0.0 && budget_seconds(results) > limit) {
        if (plan->milliseconds > LEAST_MILLISECONDS)
            plan->milliseconds -= plan->milliseconds > 2 * LEAST_MILLISECONDS ? 5 : 1;
        else if (plan->repetitions > LEAST_REPETITIONS)
            plan->repetitions--;
        else
            return;
        plan_settle(plan);
    }
}

void budget_keep(struct results *results, size_t line, double elapsed, double limit)
{
    struct plan_line *what = &results->plan->lines[line];
    double before = 0.0, rest = 0.0, planned = what->repetitions, share;
    size_t i;

    for (i = 0; i < results->plan->count; i++)
        *(i < line ? &before : &rest) += budget_line_seconds(results, i);
    /* Slower than reckoned by this factor, so far; a little is known after some lines. */
    if (limit <= 0.0 || before < limit / 50.0 || elapsed <= before)
        return;
    rest *= elapsed / before;
    /* All that is to come loses as much as this line, or it would lose too little. */
    for (share = 1.0; what->repetitions > LAST_REPETITIONS && elapsed + rest * share > limit;)
        share = (double)--what->repetitions / planned;
}
