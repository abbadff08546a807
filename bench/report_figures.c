/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_figures.c - results for people: lines with figures in units of their own, a
 * table each, with a row for every contestant that takes part.
 *
 * Includes report.h only.  The files for programs need nothing of the kind: there
 * a metric's name ends in its unit, nanoseconds where it does not.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <stdio.h>
#include <string.h>

#include "report.h"

#define FIGURES_MAX 11
#define FIGURE_WIDTH 11

struct figure {
    const char *metric;  /* NULL ends the list */
    const char *heading; /* above the unit, with the unit FIGURE_WIDTH - 1 bytes each */
    const char *unit;
    double divisor;      /* from the metric's unit to this one */
};

static const struct {
    const char *workload;
    const char *title;
    struct figure figures[FIGURES_MAX];
} tables[] = {
    { "recall",
      "an alloc that takes a spare magazine of a sleeping thread, or its loaded one",
      { { "spare_us.p50", "spare p50", "us", 1.0 },
        { "spare_us.p99", "p99", "us", 1.0 },
        { "spare_us.max", "max", "us", 1.0 },
        { "loaded_us.p50", "loaded p50", "us", 1.0 },
        { "loaded_us.p99", "p99", "us", 1.0 },
        { "loaded_us.max", "max", "us", 1.0 },
        { "all_us.p50", "all slots", "us", 1.0 } } },
    { "hand-off",
      "from the free to when a thread that slept has the slot",
      { { "hand_off_us.p50", "p50", "us", 1.0 },
        { "hand_off_us.p99", "p99", "us", 1.0 },
        { "hand_off_us.max", "max", "us", 1.0 },
        { "hand_off_us.count", "hand-offs", "", 1.0 } } },
    { "locality",
      "a walk, and the slots that lie behind the one before; trimming",
      { { "walk_fresh", "new", "ns/slot", 1.0 },
        { "walk_scattered", "scattered", "ns/slot", 1.0 },
        { "walk_trimmed", "trimmed", "ns/slot", 1.0 },
        { "scattered_percent", "scattered", "% in order", 1.0 },
        { "trimmed_percent", "trimmed", "% in order", 1.0 },
        { "trim_us", "trim takes", "us", 1.0 },
        { "before_bytes", "resident", "KiB", 1024.0 },
        { "after_bytes", "afterwards", "KiB", 1024.0 },
        { "returned_bytes", "given back", "KiB", 1024.0 } } },
    { "grow",
      "allocs of a pool that grows and of one that need not; the calls",
      { { "growing_ns", "growing", "ns/alloc", 1.0 },
        { "fixed_ns", "not growing", "ns/alloc", 1.0 },
        { "growing_us.p99", "growing p99", "us", 1.0 },
        { "growing_us.max", "max", "us", 1.0 },
        { "growths", "growths", "", 1.0 },
        { "grow_us", "cpool_grow", "us", 1.0 },
        { "reserve_us", "_reserve", "us", 1.0 },
        { "fresh_touch_ns", "touch fresh", "ns/slot", 1.0 },
        { "reserved_touch_ns", "reserved", "ns/slot", 1.0 } } },
    { "resolve",
      "from a handle to its slot; by hand: an array with generations beside it, or inside",
      { { "sequential_per_s", "in order", "M/s", 1e6 },
        { "sequential_beside_per_s", "by hand", "M/s", 1e6 },
        { "random_per_s", "random", "M/s", 1e6 },
        { "random_beside_per_s", "by hand", "M/s", 1e6 },
        { "touch_per_s", "and touch", "M/s", 1e6 },
        { "touch_beside_per_s", "by hand", "M/s", 1e6 },
        { "touch_inside_per_s", "inside", "M/s", 1e6 } } },
    { "foreach",
      "percent of 1,000,000 slots are live; a flag in each of an array; lists of the live ones",
      { { "iterator_ns", "iterator", "ns/live", 1.0 },
        { "flags_ns", "flags", "ns/live", 1.0 },
        { "list_ns", "list", "ns/live", 1.0 },
        { "shuffled_ns", "shuffled", "ns/live", 1.0 },
        { "iterator_us", "iterator", "us in all", 1.0 },
        { "flags_us", "flags", "us in all", 1.0 },
        { "list_us", "list", "us in all", 1.0 },
        { "shuffled_us", "shuffled", "us in all", 1.0 } } },
    { "frame-end",
      "the end of a frame, and each slot freed by itself; the allocs before",
      { { "end_us", "end", "us in all", 1.0 },
        { "free_us", "free each", "us in all", 1.0 },
        { "end_ns", "end", "ns/slot", 1.0 },
        { "free_ns", "free each", "ns/slot", 1.0 },
        { "frame_alloc_ns", "frame alloc", "ns/slot", 1.0 },
        { "alloc_ns", "alloc", "ns/slot", 1.0 } } },
    { "object-frame",
      "the end of a frame of objects, put_all, and each put by itself; the gets before",
      { { "end_us", "end", "us in all", 1.0 },
        { "frame_get_ns", "frame get", "ns/object", 1.0 },
        { "all_us", "put_all", "us in all", 1.0 },
        { "put_us", "put each", "us in all", 1.0 },
        { "get_ns", "get", "ns/object", 1.0 } } },
};

static void print_headings(const struct figure *figures, FILE *out)
{
    const struct figure *figure;

    fprintf(out, "  %-15s", "");
    for (figure = figures; figure->metric != NULL; figure++)
        fprintf(out, "%*s ", FIGURE_WIDTH, figure->heading);
    fprintf(out, "\n  %-15s", "");
    for (figure = figures; figure->metric != NULL; figure++)
        fprintf(out, "%*s ", FIGURE_WIDTH, figure->unit);
    fprintf(out, "\n");
}

static void print_figure(const struct summary *summary, double divisor, FILE *out)
{
    double value = summary->median / divisor;

    if (summary->status == CELL_FAILED)
        fprintf(out, "%*s ", FIGURE_WIDTH, "FAILED");
    else if (summary->median < 0.0) /* an answer without this metric */
        fprintf(out, "%*s ", FIGURE_WIDTH, "-");
    else
        fprintf(out, "%*.*f%c", FIGURE_WIDTH, value < 100.0 ? 2 : 0, value,
                summary->disturbed ? '~' : ' ');
}

static void print_row(const struct results *results, size_t line, size_t contestant,
                      const struct figure *figures, FILE *out)
{
    const struct figure *figure;

    fprintf(out, "  %-15s", results->contestants[contestant].name);
    for (figure = figures; figure->metric != NULL; figure++) {
        struct summary summary = results_summary(results, line, contestant, figure->metric);

        print_figure(&summary, figure->divisor, out);
    }
    fprintf(out, "\n");
}

static void print_line(const struct results *results, size_t line, FILE *out)
{
    const char *workload = results->plan->lines[line].workload->name;
    size_t table = 0, i;

    while (strcmp(tables[table].workload, workload) != 0)
        if (++table == sizeof tables / sizeof tables[0])
            return;
    fprintf(out, "  %s: %s\n", results->plan->lines[line].label, tables[table].title);
    print_headings(tables[table].figures, out);
    for (i = 0; i < results->contestant_count; i++)
        if (results->contestants[i].chosen && results->contestants[i].absent[0] == '\0' &&
            results_summary(results, line, i, "ns").status != CELL_ABSENT)
            print_row(results, line, i, tables[table].figures, out);
    fprintf(out, "\n");
}

void report_figures(const struct results *results, enum plan_section section, FILE *out)
{
    size_t line;

    for (line = 0; line < results->plan->count; line++)
        if (results->plan->lines[line].section == section)
            print_line(results, line, out);
}
