/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - the ways in which results are shown.
 *
 * Includes results.h only.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "results.h"

/* Metrics of latency lines, in the order they are shown. */
#define REPORT_LATENCIES 10
extern const char *const report_latencies[REPORT_LATENCIES];

/* For people: machine, contestants, a table per section, with ratios. */
void report_head(const struct results *results, FILE *out);
void report_tables(const struct results *results, FILE *out);

/* The lines of PLAN_FIGURES or PLAN_OBJECTS (report_figures.c), for report_tables. */
void report_figures(const struct results *results, enum plan_section section, FILE *out);

/* The lines with modes (report_modes.c), likewise. */
void report_modes(const struct results *results, FILE *out);

/* The lines of PLAN_SCALING (report_scale.c), likewise. */
void report_scale(const struct results *results, FILE *out);

/* To be kept: the file of this processor's family (report_record.c).  `sources` says
 * from which sources the programs were built. */
void report_record(const struct results *results, const char *sources, FILE *out);

/* For programs. */
void report_csv(const struct results *results, FILE *out);
void report_json(const struct results *results, FILE *out);
void report_histograms(const struct results *results, FILE *out);

#endif /* BENCH_REPORT_H */
