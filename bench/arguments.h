/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arguments.h - what the command line asks for.
 *
 * Includes plan.h only.
 */
#ifndef BENCH_ARGUMENTS_H
#define BENCH_ARGUMENTS_H

#include "plan.h"

/* Most values that --threads can be given. */
#define VALUES_MAX 32

struct arguments {
    enum plan_size size;
    const char *rivals;    /* names with commas, or NULL: all */
    const char *workloads; /* the same */
    const char *lines;     /* the same, of the plan's */
    unsigned threads[VALUES_MAX];
    size_t thread_count; /* 0: as planned */
    size_t slot_size;    /* for workloads that are named */
    unsigned milliseconds, repetitions;
    unsigned rest; /* milliseconds between cells */
    bool timed;    /* milliseconds was given */
    bool dry;      /* print the plan only */
    const char *csv, *json, *histograms;
    const char *record;  /* folder of the families' files, or NULL */
    const char *sources; /* the configuration of the build, for that file */
    uint64_t seed;
};

/* Takes in the command line.  It ends the program when the line is wrong, or asks for
 * help. */
void arguments_parse(struct arguments *arguments, int count, char **words);

/* Ends the program with a complaint about the command line. */
#if defined(__GNUC__)
__attribute__((__noreturn__))
#endif
void arguments_refuse(const char *what, const char *value);

/* Copies the next of the values between commas.  Returns false at the end. */
bool arguments_next(const char **values, char *value, size_t size);

#endif /* BENCH_ARGUMENTS_H */
