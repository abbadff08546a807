/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.h - the matrix: which workloads are measured, with how many threads.
 *
 * Includes bench.h only.  A plan is a list of lines; a line with every
 * contestant and repetition becomes the cells that cell.c runs.
 */
#ifndef BENCH_PLAN_H
#define BENCH_PLAN_H

#include "bench.h"

enum plan_size { PLAN_FULL, PLAN_QUICK, PLAN_SMOKE };

/* Tables that lines are printed in. */
enum plan_section {
    PLAN_THROUGHPUT,
    PLAN_ORDER,
    PLAN_SLOT_SIZE,
    PLAN_ALLOCATE,
    PLAN_CREATE,
    PLAN_LATENCY,
    PLAN_SECTIONS
};

struct plan_line {
    enum plan_section section;
    const struct bench_workload *workload;
    struct bench_cell cell; /* its seed differs from one repetition to the next */
    char label[40];
};

struct plan {
    struct plan_line *lines;
    size_t count, room;
    unsigned milliseconds; /* per cell; set before lines are added */
    unsigned repetitions;
    size_t magazine_rounds; /* of cpool; 0: its own choice */
};

/* What a size of plan measures if nothing else is said. */
void plan_init(struct plan *plan, enum plan_size size);
void plan_fini(struct plan *plan);

/* Adds the lines of that size. */
void plan_fill(struct plan *plan, enum plan_size size);

/* Adds lines for one workload, NAME[:PARAMETER[:fifo|random]]; false when there
 * is none of that name. */
bool plan_add(struct plan *plan, const char *text, size_t slot_size, unsigned threads);

/* Drops the lines with other numbers of threads. */
void plan_keep_threads(struct plan *plan, const unsigned *threads, size_t count);

/* The title of a section's table. */
const char *plan_title(enum plan_section section);

#endif /* BENCH_PLAN_H */
