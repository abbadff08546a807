/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.h - the matrix: which workloads are measured, with how many threads.
 *
 * Includes bench.h only.  A plan is a list of lines.  A line with every
 * contestant and repetition becomes the cells that cell.c runs.
 */
#ifndef BENCH_PLAN_H
#define BENCH_PLAN_H

#include "bench.h"

enum plan_size { PLAN_FULL, PLAN_QUICK, PLAN_SMOKE, PLAN_SCALE };

/* Tables that lines are printed in. */
enum plan_section {
    PLAN_THROUGHPUT,
    PLAN_ORDER,
    PLAN_SLOT_SIZE,
    PLAN_ALLOCATE,
    PLAN_CREATE,
    PLAN_LATENCY,
    PLAN_OCCUPANCY,
    PLAN_WAITERS,
    PLAN_RECLAIM,
    PLAN_RETIRE,
    PLAN_SCALING, /* over the number of threads */
    PLAN_FIGURES, /* lines with figures in units of their own */
    PLAN_OBJECTS, /* the same, of handles, visits and objects */
    PLAN_SECTIONS
};

struct plan_line {
    enum plan_section section;
    const struct bench_workload *workload;
    struct bench_cell cell; /* its seed differs from one repetition to the next */
    unsigned repetitions;   /* the plan's, or fewer when time runs short */
    bool modes;             /* the modes of libcpool take part, and have a table */
    char label[40];
};

struct plan {
    struct plan_line *lines;
    size_t count, room;
    unsigned milliseconds; /* per cell, and twice that with more threads than processors */
    unsigned repetitions;  /* most that a line has */
    double seconds;        /* the run may take; 0: any time */
};

/* The measurements of a size of plan by default. */
void plan_init(struct plan *plan, enum plan_size size);
void plan_fini(struct plan *plan);

/* Adds the lines of that size. */
void plan_fill(struct plan *plan, enum plan_size size);

/* Adds a line for one workload, NAME[:PARAMETER[:fifo|random]].  Returns NULL, or
 * why there is no such line. */
const char *plan_add(struct plan *plan, const char *text, size_t slot_size, unsigned threads);

/* Gives every line the plan's milliseconds and repetitions.  Last of all. */
void plan_settle(struct plan *plan);

/* Drops the lines with other numbers of threads. */
void plan_keep_threads(struct plan *plan, const unsigned *threads, size_t count);

/* Drops the lines of other workloads.  Returns false when the plan has none of that
 * name. */
bool plan_keep_workloads(struct plan *plan, const char *names);

/* The title of a section's table. */
const char *plan_title(enum plan_section section);

#endif /* BENCH_PLAN_H */
