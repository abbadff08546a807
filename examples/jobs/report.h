/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - what the program shows: progress, totals, and runs side by side.
 *
 * Includes options.h, scheduler.h, skipped.h and summary.h.
 */
#ifndef JOBS_REPORT_H
#define JOBS_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "options.h"
#include "scheduler.h"
#include "skipped.h"
#include "summary.h"

/* One run with one allocator. */
struct run {
    double seconds;
    uint64_t result_nodes; /* taken */
    struct scheduler_figures figures;
};

/* The measured runs, options.repeat of each allocator that takes part. */
struct run_table {
    unsigned repeat;
    unsigned allocators;              /* set of 1 << enum allocator_kind */
    struct run *runs[ALLOCATOR_KINDS]; /* NULL for one that does not */
};

extern const char *const allocator_names[ALLOCATOR_KINDS];

/* One line of progress that replaces the one before. */
void report_progress(const char *what, const struct scheduler_figures *figures, uint64_t bytes);

/* Removes the line of progress. */
void report_progress_end(void);

/* Counts of a directory, and the entries that were left out. */
void report_totals(FILE *out, const char *path, const struct summary *summary,
                   const struct skipped *skipped);

/* The runs side by side, with medians and ratios. */
void report_runs(FILE *out, const struct run_table *table);

#endif /* JOBS_REPORT_H */
