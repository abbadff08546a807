/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_modes.c - results for people: the modes of libcpool compared with the plain pair and the
 * mallocs on the same lines, a row for each mode and a column for each line.
 *
 * Includes report.h only.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <stdio.h>
#include <string.h>

#include "report.h"

/* A column's width, and that of the names before them. */
#define COLUMN 12
#define NAMES 25

static bool is_malloc(const struct results *results, size_t contestant)
{
    return strcmp(results->contestants[contestant].rival, "malloc") == 0;
}

/* Whether a contestant has, or should have, results on these lines. */
static bool has_row(const struct results *results, size_t contestant)
{
    const struct contestant *who = &results->contestants[contestant];
    size_t line;

    for (line = 0; line < results->plan->count && who->chosen && who->absent[0] == '\0'; line++)
        if (results->plan->lines[line].modes &&
            results_summary(results, line, contestant, "ns").status != CELL_ABSENT)
            return (who->traits & BENCH_OURS) != 0 || is_malloc(results, contestant);
    return false;
}

/* The malloc with the smallest median, or contestant_count. */
static size_t fastest_malloc(const struct results *results, size_t line)
{
    size_t best = results->contestant_count, i;
    double smallest = 0.0;

    for (i = 0; i < results->contestant_count; i++) {
        struct summary summary = results_summary(results, line, i, "ns");

        if (!is_malloc(results, i) || summary.status != CELL_DONE || summary.samples == 0 ||
            (best < results->contestant_count && summary.median >= smallest))
            continue;
        best = i;
        smallest = summary.median;
    }
    return best;
}

static void print_time(const struct results *results, size_t line, size_t contestant, FILE *out)
{
    struct summary summary = results_summary(results, line, contestant, "ns");

    if (summary.status != CELL_DONE)
        fprintf(out, "%*s", COLUMN, summary.status == CELL_ABSENT ? "- " : "FAILED ");
    else
        fprintf(out, "%*.*f%c", COLUMN - 1, summary.median < 10.0 ? 2 : 1, summary.median,
                summary.disturbed ? '~' : ' ');
}

static void print_share(const struct results *results, size_t line, size_t contestant,
                        size_t reference, FILE *out)
{
    double ratio = 0.0;

    if (contestant < results->contestant_count && reference < results->contestant_count)
        ratio = results_ratio(results, line, contestant, reference, "ns");
    if (ratio > 0.0)
        fprintf(out, "%*.2f ", COLUMN - 1, ratio);
    else
        fprintf(out, "%*s", COLUMN, "- ");
}

static void print_plain_share(const struct results *results, size_t line, size_t contestant,
                              FILE *out)
{
    print_share(results, line, contestant, results_find(results, "cpool"), out);
}

static void print_malloc_share(const struct results *results, size_t line, size_t contestant,
                               FILE *out)
{
    print_share(results, line, fastest_malloc(results, line), contestant, out);
}

static void print_table(const struct results *results, const char *title,
                        void (*print)(const struct results *, size_t, size_t, FILE *), FILE *out)
{
    size_t line, i;

    fprintf(out, "%s%-*s", title, NAMES, "");
    for (line = 0; line < results->plan->count; line++)
        if (results->plan->lines[line].modes)
            fprintf(out, "%*s ", COLUMN - 1, results->plan->lines[line].label);
    fprintf(out, "\n  %-*s", NAMES - 2, "threads");
    for (line = 0; line < results->plan->count; line++)
        if (results->plan->lines[line].modes)
            fprintf(out, "%*u ", COLUMN - 1, results->plan->lines[line].cell.threads);
    fprintf(out, "\n");
    for (i = 0; i < results->contestant_count; i++) {
        if (!has_row(results, i))
            continue;
        fprintf(out, "  %-*s", NAMES - 2, results->contestants[i].name);
        for (line = 0; line < results->plan->count; line++)
            if (results->plan->lines[line].modes)
                print(results, line, i, out);
        fprintf(out, "\n");
    }
}

void report_modes(const struct results *results, FILE *out)
{
    print_table(results, "", print_time, out);
    print_table(results, "\n  The same as ratios to cpool, the plain implicit pair\n\n",
                print_plain_share, out);
    print_table(results, "\n  How many times longer the fastest malloc takes\n\n",
                print_malloc_share, out);
}
