/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.h - cycles and instructions of a thread, if the machine counts them.
 *
 * Includes nothing of this folder.  Only what runs in user mode counts.  Virtual
 * machines often have no counters, and the system may refuse them.
 */
#ifndef BENCH_COUNTERS_H
#define BENCH_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

/* The counts of a thread so far. */
struct counters_reading {
    double cycles, instructions;
};

/* The counters of one thread, which uses them alone. */
struct counters {
    int cycles, instructions; /* file descriptors, or -1 */
};

/* Starts counting for the calling thread.  If that fails, so does counters_read. */
void counters_open(struct counters *counters);

/* Returns false if there are no counters. */
bool counters_read(const struct counters *counters, struct counters_reading *reading);

void counters_close(struct counters *counters);

/* Why this machine has no counters, or NULL.  Determined once. */
const char *counters_absent(void);

#endif /* BENCH_COUNTERS_H */
