/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * machine.h - the machine: its description, pinning threads, and disturbances.
 *
 * Includes nothing of this folder (machine.c: bench.h, counters.h and family.h).  Everything that
 * depends on the operating system is in machine.c.  If it cannot tell, it reports no disturbance
 * and "unknown".
 */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* The number of processors that this process may use.  First called before there are threads. */
unsigned machine_processors(void);

/* Pins the calling thread to the index-th of them, unless there are more threads than
 * processors. */
void machine_pin(unsigned index, unsigned threads);

/* Nanoseconds for which the calling thread was ready to run but did not get a processor, so far.
 * Voluntary waiting (for a lock) does not count.  MACHINE_UNKNOWN if the system does not say. */
#define MACHINE_UNKNOWN UINT64_MAX
uint64_t machine_waited(void);

/* How often the calling thread was preempted so far. */
uint64_t machine_switches(void);

/* Processor time that other programs used so far, milliseconds, all processors.  Accurate to some
 * ten milliseconds. */
double machine_others(void);

/* Milliseconds that the hypervisor took away so far, all processors. */
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
