/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * results.c - what the answers of a run come to: medians, spreads, ratios.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "results.h"

#include <stdlib.h>
#include <string.h>

/* A cell may not have lost a larger share of its time than this to others. */
#define WAITED_MAX 0.05

/* Nor may it have been preempted more often in a second, if nothing says how long that took. */
#define SWITCHES_MAX 100.0

/* Most repetitions that are summarised. */
#define SAMPLES_MAX 256u

void results_init(struct results *results, struct plan *plan)
{
    results->plan = plan;
    results->contestants = cell_contestants(&results->contestant_count);
    results->answers = bench_memory(plan->count * results->contestant_count * plan->repetitions,
                                    sizeof *results->answers);
}

void results_fini(struct results *results)
{
    size_t all = results->plan->count * results->contestant_count * results->plan->repetitions, i;

    for (i = 0; i < all; i++)
        free(results->answers[i].buckets);
    free(results->answers);
    free(results->contestants);
}

struct cell_answer *results_answer(const struct results *results, size_t line, size_t contestant,
                                   unsigned repetition)
{
    return &results->answers[(line * results->contestant_count + contestant) *
                                 results->plan->repetitions +
                             repetition];
}

unsigned results_repetitions(const struct results *results, size_t line)
{
    return results->plan->lines[line].repetitions;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The value below which a share of the sorted values lie, interpolated. */
static double quantile(const double *sorted, unsigned count, double share)
{
    double at = share * (double)(count - 1);
    unsigned below = (unsigned)at;

    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

bool results_was_disturbed(const struct cell_answer *answer)
{
    double waited = cell_metric(answer, "waited"), switches = cell_metric(answer, "switches");
    double seconds = cell_metric(answer, "operations") / cell_metric(answer, "throughput");

    if (cell_metric(answer, "steal") > 0.0 || waited > WAITED_MAX)
        return true;
    return waited < 0.0 && switches > SWITCHES_MAX * seconds;
}

struct summary results_summary(const struct results *results, size_t line, size_t contestant,
                               const char *metric)
{
    struct summary summary = { CELL_DONE, "", 0, 0.0, 0.0, 0.0, 0.0, false };
    unsigned disturbed = 0, i;
    double samples[SAMPLES_MAX];

    for (i = 0; i < results_repetitions(results, line) && summary.samples < SAMPLES_MAX; i++) {
        const struct cell_answer *answer = results_answer(results, line, contestant, i);

        if (answer->status != CELL_DONE) {
            summary.status = answer->status;
            summary.text = answer->text;
            return summary;
        }
        disturbed += results_was_disturbed(answer) ? 1u : 0u;
        samples[summary.samples++] = cell_metric(answer, metric);
    }
    qsort(samples, summary.samples, sizeof samples[0], compare);
    summary.median = quantile(samples, summary.samples, 0.5);
    summary.low = quantile(samples, summary.samples, 0.25);
    summary.high = quantile(samples, summary.samples, 0.75);
    if (summary.median > 0.0)
        summary.spread = (summary.high - summary.low) / summary.median;
    /* A disturbed minority does not move the median.  A single sample has no spread. */
    summary.disturbed = summary.spread > RESULTS_SPREAD_MAX || disturbed * 2 > summary.samples ||
                        (summary.samples == 1 && results->plan->repetitions > 1);
    return summary;
}

double results_ratio(const struct results *results, size_t line, size_t contestant,
                     size_t reference, const char *metric)
{
    double ratios[SAMPLES_MAX];
    unsigned count = 0, i;

    for (i = 0; i < results_repetitions(results, line) && count < SAMPLES_MAX; i++) {
        const struct cell_answer *theirs = results_answer(results, line, contestant, i);
        const struct cell_answer *ours = results_answer(results, line, reference, i);
        double base = cell_metric(ours, metric);

        if (theirs->status != CELL_DONE || ours->status != CELL_DONE || base <= 0.0)
            return 0.0;
        ratios[count++] = cell_metric(theirs, metric) / base;
    }
    qsort(ratios, count, sizeof ratios[0], compare);
    return count == 0 ? 0.0 : quantile(ratios, count, 0.5);
}

size_t results_find(const struct results *results, const char *name)
{
    size_t i = 0;

    while (i < results->contestant_count && strcmp(results->contestants[i].name, name) != 0)
        i++;
    return i;
}

bool results_is_peer(const struct results *results, size_t contestant)
{
    return (results->contestants[contestant].traits & (BENCH_OURS | BENCH_LIMIT)) == 0;
}

size_t results_best_peer(const struct results *results, size_t line, const char *metric)
{
    size_t best = results->contestant_count, i;
    double smallest = 0.0;

    for (i = 0; i < results->contestant_count; i++) {
        struct summary summary;

        if (!results_is_peer(results, i))
            continue;
        summary = results_summary(results, line, i, metric);
        if (summary.status != CELL_DONE || summary.samples == 0)
            continue;
        if (best == results->contestant_count || summary.median < smallest) {
            best = i;
            smallest = summary.median;
        }
    }
    return best;
}
