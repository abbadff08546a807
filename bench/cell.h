/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cell.h - measurements as the parent sees them: contestants, lines, answers.
 *
 * Includes bench.h only.  A contestant is a rival as it appears in the table: a compiled-in rival,
 * or the malloc rival with another allocator preloaded.  A line is a workload with its parameters.
 * Contestant x line x repetition is a cell, which cell_run measures in its own process.
 */
#ifndef BENCH_CELL_H
#define BENCH_CELL_H

#include "bench.h"

/* The most metrics in a cell's answer. */
#define CELL_METRICS 32

/* The longest text in a cell's answer. */
#define CELL_TEXT 160

struct contestant {
    const char *name;    /* in the table */
    const char *summary; /* in the legend */
    const char *rival;   /* which compiled-in rival it is */
    const char *program; /* the program that has it: a path, a file beside this
                            one, or NULL for this one */
    const char *preload; /* the library to stand before others, or NULL */
    const char *expect;  /* a part of the version that proves it did, or NULL */
    const char *config;  /* of libcpool's pools: KEY=VALUE,... or "" */
    unsigned traits;     /* of the rival */
    char version[CELL_TEXT]; /* the version that really ran, filled in by the probe */
    char absent[CELL_TEXT];  /* why it does not take part, or "" */
    bool chosen;             /* by the command line */
    bool variant;            /* of libcpool, made up on the command line */
    const char *options;     /* CPOOL_OPTIONS of a variant, or NULL for those of bench */
};

enum cell_status { CELL_DONE, CELL_ABSENT, CELL_FAILED };

struct cell_metric {
    char name[24];
    double value;
};

/* The number of values in one bucket of a histogram. */
struct cell_bucket {
    bool release;  /* how long frees took, else allocs */
    size_t index;  /* histogram.h says which values */
    uint64_t count;
};

struct cell_answer {
    enum cell_status status;
    char text[CELL_TEXT];    /* why not, when it is not CELL_DONE */
    char version[CELL_TEXT]; /* the version that really ran */
    unsigned count;
    struct cell_metric metrics[CELL_METRICS];
    struct cell_bucket *buckets; /* to be freed, or NULL when there are none */
    size_t bucket_count;
};

/* All contestants, in the order of the table.  The caller frees them.  `count` receives their
 * number. */
struct contestant *cell_contestants(size_t *count);

/* Sets how libcpool's own pools are made unless a variant says otherwise: members of cpool_config_t
 * as KEY=VALUE,...  (rival_cpool.h).  Call it before cell_contestants. */
void cell_configure(const char *config);

/* Defines a variant of libcpool, NAME:KEY=VALUE,... with the keys of cell_configure and rival,
 * program, preload, options.  Returns false for any other key.  Call it before cell_contestants. */
bool cell_add_variant(const char *text);

/* The compiled-in rival of that name, or NULL; and the one of that name for slots of
 * some size, or the former when none is. */
const struct bench_rival *cell_rival(const char *name);
const struct bench_rival *cell_rival_for(const char *name, size_t slot_size);

/* All workloads, ended by NULL, and the one of that name, or NULL. */
const struct bench_workload *const *cell_workloads(void);
const struct bench_workload *cell_workload(const char *name);

/* Why a workload cannot run with that many threads, or NULL. */
const char *cell_unfit(const struct bench_workload *workload, unsigned threads);

/* Finds out, in its own process, whether a contestant can run here. */
void cell_probe(struct contestant *contestant);

/* Measures one cell in its own process. */
void cell_run(const struct contestant *contestant, const char *workload,
              const struct bench_cell *cell, struct cell_answer *answer);

/* The value of a metric, or a negative number if the answer does not have it. */
double cell_metric(const struct cell_answer *answer, const char *name);

/* The main function of such a process.  Ends it. */
#if defined(__GNUC__)
__attribute__((__noreturn__))
#endif
void cell_main(int count, char **arguments);

#endif /* BENCH_CELL_H */
