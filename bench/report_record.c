/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_record.c - the file that is kept of a family of processors: a short table
 * with a row for each line that readers ask for first, then all tables.
 *
 * Includes report.h, family.h and machine.h.  README.md shows the rows between the two
 * comments, of all families (readme.sh).
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "family.h"
#include "machine.h"
#include "report.h"

/* The rows, each with a thread for every processor. */
static const struct {
    const char *workload;
    size_t parameter;
    const char *title;
} rows[] = {
    { "same-slot", 0, "same slot" },
    { "burst", 64, "64 out, 64 back" },
    { "burst", 4096, "4096 out, 4096 back" },
    { "replace", 4096, "random replace in 4096" },
    { "pipe", 1024, "producer to consumer" },
    { "frame", 10000, "job frame of 10,000" },
};

/* The columns. */
static const char *const columns[][2] = {
    { "cpool-typed", "typed" }, { "cpool", "cpool" },       { "cpool-cache", "explicit" },
    { "dpdk", "DPDK" },         { "malloc", "glibc" },      { "jemalloc", "jemalloc" },
    { "tcmalloc", "tcmalloc" }, { "mimalloc", "mimalloc" }, { "mutex", "mutex" },
};

#define ROWS (sizeof rows / sizeof rows[0])
#define COLUMNS (sizeof columns / sizeof columns[0])

/* The line of a row, or plan->count. */
static size_t find_line(const struct results *results, size_t row)
{
    const struct plan *plan = results->plan;
    unsigned threads = machine_processors();
    size_t i;

    for (i = 0; i < plan->count; i++) {
        const struct plan_line *line = &plan->lines[i];
        bool paired = (line->workload->traits & BENCH_PAIRED) != 0;

        if (line->section == PLAN_THROUGHPUT && line->cell.order == BENCH_LIFO &&
            strcmp(line->workload->name, rows[row].workload) == 0 &&
            line->cell.parameter == rows[row].parameter &&
            line->cell.threads == threads - (paired ? threads % 2 : 0))
            break;
    }
    return i;
}

static void print_value(const struct results *results, size_t line, const char *name, FILE *out)
{
    size_t contestant = results_find(results, name);
    struct summary summary;

    if (contestant < results->contestant_count) {
        summary = results_summary(results, line, contestant, "ns");
        if (summary.status == CELL_DONE && summary.samples != 0) {
            fprintf(out, " %.*f%s |", summary.median < 10.0 ? 2 : summary.median < 100.0 ? 1 : 0,
                    summary.median, summary.disturbed ? "~" : "");
            return;
        }
    }
    fprintf(out, " - |");
}

static void print_rows(const struct results *results, const char *family, FILE *out)
{
    size_t row, column, line;

    fprintf(out, "| processor family | threads | line |");
    for (column = 0; column < COLUMNS; column++)
        fprintf(out, " %s |", columns[column][1]);
    fprintf(out, "\n|---|---|---|");
    for (column = 0; column < COLUMNS; column++)
        fprintf(out, "---|");
    fprintf(out, "\n");
    for (row = 0; row < ROWS; row++) {
        line = find_line(results, row);
        if (line == results->plan->count)
            continue;
        fprintf(out, "| %s | %u | %s |", family, results->plan->lines[line].cell.threads,
                rows[row].title);
        for (column = 0; column < COLUMNS; column++)
            print_value(results, line, columns[column][0], out);
        fprintf(out, "\n");
    }
}

void report_record(const struct results *results, const char *sources, FILE *out)
{
    time_t now = time(NULL);
    char family[64], date[16];
    struct tm today;

    family_here(family, sizeof family);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &today));
    fprintf(out, "# %s\n\n"
                 "Made by `make bench` on %s from the sources %s. The next run on a processor\n"
                 "of this family replaces this file. [PERFORMANCE.md](../PERFORMANCE.md) says how\n"
                 "the figures are measured.\n\n"
                 "Nanoseconds for one alloc and one free of a slot of 64 bytes, with a thread on\n"
                 "each processor:\n\n"
                 "<!-- rows -->\n", family, date, sources);
    print_rows(results, family, out);
    fprintf(out, "<!-- end of rows -->\n\n```text\n");
    report_head(results, out);
    report_tables(results, out);
    fprintf(out, "```\n");
}
