/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * machine.h - the machine: its description, pinning threads, and disturbances.
 *
 * Includes nothing of this folder (machine.c: bench.h, counters.h and family.h).
 * Everything that depends on the operating system lies in machine.c.  Where it cannot
 * tell, it says that nothing was disturbed and "unknown".
 */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Processors that this process may use.  First called before there are threads. */
unsigned machine_processors(void);

/* Ties the calling thread to the index-th of them, unless threads outnumber them. */
void machine_pin(unsigned index, unsigned threads);

/* Nanoseconds that the calling thread was ready to run but did not get a
 * processor, so far.  Waiting of its own accord (for a lock) does not count.
 * MACHINE_UNKNOWN where the system does not say. */
#define MACHINE_UNKNOWN UINT64_MAX
uint64_t machine_waited(void);

/* How often a processor was taken away from the calling thread, so far. */
uint64_t machine_switches(void);

/* Processor time that other programs took so far, milliseconds, all processors.
 * It is exact to some ten of them. */
double machine_others(void);

/* Milliseconds that the hypervisor gave to somebody else so far, all processors. */
double machine_steal(void);

/* A description: pairs of a name and a text, for the heads of reports. */
struct machine_fact {
    const char *name;
    char text[192];
};

#define MACHINE_FACTS 12

/* Fills in the facts and returns their number. */
size_t machine_describe(struct machine_fact facts[MACHINE_FACTS]);

#endif /* BENCH_MACHINE_H */
