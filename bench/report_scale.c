/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_scale.c - results for people: how far a workload scales over the number of
 * threads.
 *
 * Includes report.h and machine.h.  A workload has a table, with a row for each number
 * of threads: the operations of all threads together in a second, their share of one
 * thread times the processors at work, and how often libcpool's threads met at the
 * depot.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <stdio.h>
#include <string.h>

#include "machine.h"
#include "report.h"

#define COLUMN 12

static bool is_scaling(const struct results *results, size_t line)
{
    return results->plan->lines[line].section == PLAN_SCALING;
}

/* Whether a line shows the same thing as another, but for the threads. */
static bool is_alike(const struct plan_line *one, const struct plan_line *other)
{
    return one->workload == other->workload && one->cell.parameter == other->cell.parameter;
}

static bool takes_part(const struct results *results, size_t contestant)
{
    return results->contestants[contestant].chosen &&
           results->contestants[contestant].absent[0] == '\0';
}

/* A metric's median, or a negative number where there is none. */
static double median(const struct results *results, size_t line, size_t contestant,
                     const char *metric)
{
    struct summary summary = results_summary(results, line, contestant, metric);

    return summary.status == CELL_DONE && summary.samples != 0 ? summary.median : -1.0;
}

static void print_number(double value, FILE *out)
{
    if (value < 0.0)
        fprintf(out, "%*s", COLUMN, "-");
    else
        fprintf(out, "%*.*f", COLUMN, value < 10.0 ? 2 : value < 1000.0 ? 1 : 0, value);
}

/* Processors that are at work with so many threads. */
static unsigned at_work(unsigned threads)
{
    return threads < machine_processors() ? threads : machine_processors();
}

/* The throughput as a share of the first line's, on as many processors. */
static void print_share(const struct results *results, size_t first, size_t line,
                        size_t contestant, FILE *out)
{
    const struct plan *plan = results->plan;
    double one = median(results, first, contestant, "throughput");
    double all = median(results, line, contestant, "throughput");
    double more = (double)at_work(plan->lines[line].cell.threads) /
                  (double)at_work(plan->lines[first].cell.threads);

    print_number(one <= 0.0 || all < 0.0 ? -1.0 : all / one / more, out);
}

static void print_heading(const struct results *results, const char *suffix, unsigned traits,
                          FILE *out)
{
    char name[32];
    size_t i;

    for (i = 0; i < results->contestant_count; i++) {
        if (!takes_part(results, i) ||
            (results->contestants[i].traits & traits) != traits)
            continue;
        snprintf(name, sizeof name, "%s%s", results->contestants[i].name, suffix);
        fprintf(out, "%*.*s", COLUMN, COLUMN - 1, name);
    }
}

/* A table of one workload from its first line `first` on, of contestants with these
 * traits.  Without a metric it shows shares. */
static void print_table(const struct results *results, size_t first, const char *metric,
                        double unit, unsigned traits, FILE *out)
{
    const struct plan *plan = results->plan;
    size_t line, i;

    fprintf(out, "  threads");
    print_heading(results, "", traits, out);
    fprintf(out, "\n");
    for (line = first; line < plan->count; line++) {
        if (!is_scaling(results, line) || !is_alike(&plan->lines[first], &plan->lines[line]))
            continue;
        fprintf(out, "  %7u", plan->lines[line].cell.threads);
        for (i = 0; i < results->contestant_count; i++) {
            if (!takes_part(results, i) ||
                (results->contestants[i].traits & traits) != traits)
                continue;
            if (metric == NULL)
                print_share(results, first, line, i, out);
            else
                print_number(median(results, line, i, metric) / unit, out);
        }
        fprintf(out, "\n");
    }
    fprintf(out, "\n");
}

static void print_workload(const struct results *results, size_t first, FILE *out)
{
    const struct plan_line *line = &results->plan->lines[first];

    fprintf(out, "  %s: %s; million %ss a second, all threads together\n", line->label,
            line->workload->summary, line->workload->unit);
    print_table(results, first, "throughput", 1e6, 0, out);
    fprintf(out, "  the same as a share of the first row, for as many processors at work\n");
    print_table(results, first, NULL, 1.0, 0, out);
    fprintf(out, "  thousand exchanges with the depot a second\n");
    print_table(results, first, "exchanges_per_s", 1e3, BENCH_OURS, out);
}

void report_scale(const struct results *results, FILE *out)
{
    const struct plan *plan = results->plan;
    size_t line, before, peers = 0, i;

    for (i = 0; i < results->contestant_count; i++)
        peers += takes_part(results, i) && results_is_peer(results, i) &&
                         strcmp(results->contestants[i].name, "malloc") != 0
                     ? 1u
                     : 0u;
    if (peers == 0)
        fprintf(out, "  No rival is installed: libcpool is compared with the C library alone.\n\n");
    for (line = 0; line < plan->count; line++) {
        if (!is_scaling(results, line))
            continue;
        for (before = 0; before < line; before++)
            if (is_scaling(results, before) && is_alike(&plan->lines[before], &plan->lines[line]))
                break;
        if (before == line)
            print_workload(results, line, out);
    }
}
