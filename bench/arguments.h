/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arguments.h - the command line.
 *
 * Includes plan.h only.
 */
#ifndef BENCH_ARGUMENTS_H
#define BENCH_ARGUMENTS_H

#include "plan.h"

/* The most values that --threads accepts. */
#define VALUES_MAX 32

struct arguments {
    enum plan_size size;
    const char *rivals;    /* names with commas; NULL: all */
    const char *workloads; /* names with commas; NULL: all */
    const char *lines;     /* names of lines of the plan with commas; NULL: all */
    unsigned threads[VALUES_MAX];
    size_t thread_count; /* 0: as planned */
    size_t slot_size;    /* for workloads given by name */
    unsigned milliseconds, repetitions;
    unsigned rest; /* milliseconds between cells */
    bool timed;    /* milliseconds was given */
    bool dry;      /* print the plan only */
    const char *csv, *json, *histograms;
    const char *record;  /* folder of the families' files, or NULL */
    const char *sources; /* the configuration of the build, for that file */
    uint64_t seed;
};

/* Parses the command line.  Ends the program if it is wrong, or asks for help. */
void arguments_parse(struct arguments *arguments, int count, char **words);

/* Ends the program with a message about the command line. */
#if defined(__GNUC__)
__attribute__((__noreturn__))
#endif
void arguments_refuse(const char *what, const char *value);

/* Copies the next value of a comma-separated list.  Returns false at the end. */
bool arguments_next(const char **values, char *value, size_t size);

#endif /* BENCH_ARGUMENTS_H */
