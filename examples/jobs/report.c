/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - see report.h.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *const allocator_names[ALLOCATOR_KINDS] = {"cpool", "malloc"};

/* Blanks enough to wipe a line of progress. */
#define PROGRESS_WIDTH 76

/* ---- Progress ------------------------------------------------------------------ */

void report_progress(const char *what, const struct scheduler_figures *figures, uint64_t bytes)
{
    char line[PROGRESS_WIDTH + 1];

    snprintf(line, sizeof line, "%s: %" PRIu64 " jobs, %.1f MB", what, figures->jobs,
             (double)bytes * 1e-6);
    fprintf(stderr, "\r%-*s", PROGRESS_WIDTH, line);
    fflush(stderr);
}

void report_progress_end(void)
{
    fprintf(stderr, "\r%-*s\r", PROGRESS_WIDTH, "");
    fflush(stderr);
}

/* ---- Totals --------------------------------------------------------------------- */

static void print_words(FILE *out, const struct summary *summary)
{
    uint64_t any = summary->words[WORDS_ANY];
    uint64_t printable = summary->words[WORDS_PRINTABLE];

    fprintf(out, "  words %16" PRIu64 "%s\n", any,
            any == printable ? "" : "  as wc of GNU coreutils 9.5 and later, and of POSIX");
    if (any != printable)
        fprintf(out, "        %16" PRIu64 "  as wc of GNU coreutils before: bytes that do not\n"
                     "        %16s  print neither begin nor end a word\n",
                printable, "");
}

static void print_top(FILE *out, const struct summary *summary)
{
    fprintf(out, "  identifiers %10" PRIu64 ", %" PRIu64 " different%s\n", summary->occurrences,
            summary->different, summary->filled > 0 ? "; the most frequent:" : "");
    for (unsigned i = 0; i < summary->filled; i++)
        fprintf(out, "    %3u %10" PRIu64 "  %.*s\n", i + 1, summary->top[i].count,
                (int)summary->top[i].length, summary->top[i].text);
}

void report_totals(FILE *out, const char *path, const struct summary *summary,
                   const struct skipped *skipped)
{
    fprintf(out, "%s\n", path);
    fprintf(out, "  files %16" PRIu64 "\n", summary->files);
    fprintf(out, "  directories %10" PRIu64 "\n", summary->directories);
    fprintf(out, "  lines %16" PRIu64 "\n", summary->lines);
    print_words(out, summary);
    fprintf(out, "  bytes %16" PRIu64 "\n", summary->bytes);
    print_top(out, summary);
    skipped_print(skipped, out);
    fputc('\n', out);
    fflush(out);
}

/* ---- Runs ------------------------------------------------------------------------- */

/* The figures of a run in a line of the table. */
typedef double run_value(const struct run *run);

static double jobs_per_second(const struct run *run)
{
    return (double)run->figures.jobs / run->seconds;
}

static double results_per_second(const struct run *run)
{
    return (double)run->result_nodes / run->seconds;
}

static double seconds(const struct run *run)
{
    return run->seconds;
}

static double jobs(const struct run *run)
{
    return (double)run->figures.jobs;
}

static double jobs_stolen(const struct run *run)
{
    return (double)run->figures.stolen;
}

static double jobs_inlined(const struct run *run)
{
    return (double)run->figures.inlined;
}

static double sleeps(const struct run *run)
{
    return (double)run->figures.sleeps;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

/* The median of a value over all runs.  `sorted` has room for all. */
static double median(const struct run *runs, unsigned count, run_value *value, double *sorted)
{
    for (unsigned i = 0; i < count; i++)
        sorted[i] = value(&runs[i]);
    qsort(sorted, count, sizeof *sorted, by_size);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* One line: a value of each allocator and, if requested, the ratio of both. */
static void print_line(FILE *out, const struct run_table *table, const char *label,
                       const double value[ALLOCATOR_KINDS], int precision, bool ratio)
{
    fprintf(out, "  %-28s", label);
    for (int kind = 0; kind < ALLOCATOR_KINDS; kind++)
        if (table->runs[kind] != NULL)
            fprintf(out, " %12.*f", precision, value[kind]);
    if (ratio && table->runs[WITH_CPOOL] != NULL && table->runs[WITH_MALLOC] != NULL)
        fprintf(out, " %12.3f", value[WITH_CPOOL] / value[WITH_MALLOC]);
    fputc('\n', out);
}

static void print_median(FILE *out, const struct run_table *table, const char *label,
                         run_value *value, int precision, double *sorted)
{
    double of[ALLOCATOR_KINDS] = {0};

    for (int kind = 0; kind < ALLOCATOR_KINDS; kind++)
        if (table->runs[kind] != NULL)
            of[kind] = median(table->runs[kind], table->repeat, value, sorted);
    print_line(out, table, label, of, precision, true);
}

static void print_each_run(FILE *out, const struct run_table *table)
{
    for (unsigned i = 0; i < table->repeat; i++) {
        double of[ALLOCATOR_KINDS] = {0};
        char label[32];

        for (int kind = 0; kind < ALLOCATOR_KINDS; kind++)
            if (table->runs[kind] != NULL)
                of[kind] = jobs_per_second(&table->runs[kind][i]);
        snprintf(label, sizeof label, "run %u, jobs/s", i + 1);
        print_line(out, table, label, of, 0, true);
    }
}

static void print_last_run(FILE *out, const struct run_table *table, const char *label,
                           run_value *value)
{
    double of[ALLOCATOR_KINDS] = {0};

    for (int kind = 0; kind < ALLOCATOR_KINDS; kind++)
        if (table->runs[kind] != NULL)
            of[kind] = value(&table->runs[kind][table->repeat - 1]);
    print_line(out, table, label, of, 0, false);
}

static void print_head(FILE *out, const struct run_table *table)
{
    fprintf(out, "  %-28s", "");
    for (int kind = 0; kind < ALLOCATOR_KINDS; kind++)
        if (table->runs[kind] != NULL)
            fprintf(out, " %12s", allocator_names[kind]);
    if (table->runs[WITH_CPOOL] != NULL && table->runs[WITH_MALLOC] != NULL)
        fprintf(out, " %12s", "cpool/malloc");
    fputc('\n', out);
}

void report_runs(FILE *out, const struct run_table *table)
{
    double *sorted = calloc(table->repeat, sizeof *sorted);

    print_head(out, table);
    print_each_run(out, table);
    if (sorted != NULL) {
        print_median(out, table, "median, jobs/s", jobs_per_second, 0, sorted);
        print_median(out, table, "median, result nodes/s", results_per_second, 0, sorted);
        print_median(out, table, "median, seconds", seconds, 3, sorted);
    }
    print_last_run(out, table, "jobs in the last run", jobs);
    print_last_run(out, table, "  stolen", jobs_stolen);
    print_last_run(out, table, "  run in place, pool dry", jobs_inlined);
    print_last_run(out, table, "times a worker slept", sleeps);
    free(sorted);
}
