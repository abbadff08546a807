/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.h - the matrix: which workloads are measured, with how many threads.
 *
 * Includes bench.h only.  A plan is a list of lines.  A line with every contestant and repetition
 * makes the cells that cell.c runs.
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
    PLAN_FIGURES, /* lines whose figures have their own units */
    PLAN_OBJECTS, /* as PLAN_FIGURES, about handles, iteration and objects */
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
    unsigned repetitions;  /* the most that a line has */
    double seconds;        /* that the run may take; 0: unlimited */
};

/* Sets the default measurements for a size of plan. */
void plan_init(struct plan *plan, enum plan_size size);
void plan_fini(struct plan *plan);

/* Adds the lines of that size. */
void plan_fill(struct plan *plan, enum plan_size size);

/* Adds a line for one workload, NAME[:PARAMETER[:fifo|random]].  Returns NULL, or why that is not
 * possible. */
const char *plan_add(struct plan *plan, const char *text, size_t slot_size, unsigned threads);

/* Gives every line the plan's milliseconds and repetitions.  Called last. */
void plan_settle(struct plan *plan);

/* Drops the lines with other numbers of threads. */
void plan_keep_threads(struct plan *plan, const unsigned *threads, size_t count);

/* Drops the lines of other workloads.  Returns false if none is left. */
bool plan_keep_workloads(struct plan *plan, const char *names);

/* The title of a section's table. */
const char *plan_title(enum plan_section section);

#endif /* BENCH_PLAN_H */
