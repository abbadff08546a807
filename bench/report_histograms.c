/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_histograms.c - every value of the latency lines, as CSV: for plots.
 *
 * Includes report.h and histogram.h.  A row for each bucket that is not empty,
 * all repetitions together: the largest value it holds in nanoseconds, the
 * clock's own cost subtracted, the number of values, and the share of all
 * operations that took no longer.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"
#include "report.h"

/* Adds the buckets of all repetitions and returns the number of values. */
static uint64_t add_up(const struct results *results, size_t line, size_t contestant, bool release,
                       uint64_t *counts)
{
    uint64_t total = 0;
    unsigned repetition;
    size_t i;

    memset(counts, 0, BENCH_HISTOGRAM_BUCKETS * sizeof *counts);
    for (repetition = 0; repetition < results_repetitions(results, line); repetition++) {
        const struct cell_answer *answer = results_answer(results, line, contestant, repetition);

        for (i = 0; i < answer->bucket_count; i++) {
            const struct cell_bucket *bucket = &answer->buckets[i];

            if (bucket->release != release || bucket->index >= BENCH_HISTOGRAM_BUCKETS)
                continue;
            counts[bucket->index] += bucket->count;
            total += bucket->count;
        }
    }
    return total;
}

static void print_row(const struct results *results, size_t line, size_t contestant, bool release,
                      double nanoseconds, uint64_t count, double share, FILE *out)
{
    const struct plan_line *what = &results->plan->lines[line];

    fprintf(out, "%s,%zu,%zu,%u,%s,%s,%.6g,%llu,%.9f\n", what->workload->name,
            what->cell.parameter, what->cell.slot_size, what->cell.threads,
            results->contestants[contestant].name, release ? "free" : "alloc", nanoseconds,
            (unsigned long long)count, share);
}

static void print_histogram(const struct results *results, size_t line, size_t contestant,
                            bool release, uint64_t *counts, FILE *out)
{
    uint64_t total = add_up(results, line, contestant, release, counts), seen = 0, pending = 0;
    double tick = results_summary(results, line, contestant, "tick").median;
    double cost = results_summary(results, line, contestant, "clock").median;
    size_t i;

    for (i = 0; i < BENCH_HISTOGRAM_BUCKETS && total != 0; i++) {
        double nanoseconds = (double)bench_histogram_largest(i) * tick - cost;

        seen += counts[i];
        pending += counts[i];
        /* Operations no longer than reading the clock are one row, of 0 ns. */
        if (pending == 0 || (nanoseconds <= 0.0 && seen < total &&
                             (double)bench_histogram_largest(i + 1) * tick <= cost))
            continue;
        print_row(results, line, contestant, release, nanoseconds > 0.0 ? nanoseconds : 0.0,
                  pending, (double)seen / (double)total, out);
        pending = 0;
    }
}

void report_histograms(const struct results *results, FILE *out)
{
    uint64_t *counts = bench_memory(BENCH_HISTOGRAM_BUCKETS, sizeof *counts);
    size_t line, i;

    fprintf(out, "workload,parameter,slot_size,threads,rival,operation,ns,count,share\n");
    for (line = 0; line < results->plan->count; line++) {
        for (i = 0; i < results->contestant_count; i++) {
            print_histogram(results, line, i, false, counts, out);
            print_histogram(results, line, i, true, counts, out);
        }
    }
    free(counts);
}
