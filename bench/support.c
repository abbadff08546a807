/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support.c - what workloads and rivals call in the measuring process: memory,
 * barrier, clock, symbols of other libraries.  See bench.h.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

void *bench_pool;

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t bench_thread_time(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t bench_process_time(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void *bench_memory(size_t count, size_t size)
{
    void *memory;
    size_t bytes;

    if (size != 0 && count > (SIZE_MAX - BENCH_LINE) / size)
        bench_fail("the benchmark's own tables are too large");
    bytes = (count * size + BENCH_LINE - 1) / BENCH_LINE * BENCH_LINE;
    memory = aligned_alloc(BENCH_LINE, bytes != 0 ? bytes : BENCH_LINE);
    if (memory == NULL)
        bench_fail("no memory for the benchmark's own tables");
    return memset(memory, 0, bytes);
}

/*
 * A barrier that spins and then yields.  If threads slept, some would start a wake-up later than
 * others; if they only spun, they would starve the others when there are more threads than
 * processors.
 *
 *   tag | operation                   | order   | pairs with | what it publishes
 *   S1  | fetch-and-add of arrived    | acq_rel | S1         | all before the barrier
 *   S2  | store of generation         | release | S3         | all before it, to those waiting
 *   S3  | load of generation, waiting | acquire | S2         |
 */
void bench_barrier(struct bench_shared *shared)
{
    /* Relaxed: it cannot change before this thread arrives. */
    unsigned generation = __atomic_load_n(&shared->generation, __ATOMIC_RELAXED);
    unsigned spins = 0;

    if (__atomic_add_fetch(&shared->arrived, 1, __ATOMIC_ACQ_REL) == /* S1 */
        shared->cell->threads) {
        /* Relaxed: S2 publishes it. */
        __atomic_store_n(&shared->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&shared->generation, generation + 1, __ATOMIC_RELEASE); /* S2 */
        return;
    }
    while (__atomic_load_n(&shared->generation, __ATOMIC_ACQUIRE) == generation) /* S3 */
        bench_pause(&spins);
}

void bench_yield(void)
{
    sched_yield();
}

void bench_shuffle(uint32_t *numbers, size_t n, uint64_t *random)
{
    size_t i;

    for (i = n; i > 1; i--) {
        size_t other = random_below(random, i);
        uint32_t number = numbers[i - 1];

        numbers[i - 1] = numbers[other];
        numbers[other] = number;
    }
}

size_t bench_resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long size = 0, resident = 0;

    if (file == NULL)
        return 0;
    if (fscanf(file, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    fclose(file);
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

bench_function bench_symbol(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL); /* kept open for good */
    void *address = handle == NULL ? NULL : dlsym(handle, name);
    bench_function function;

    memcpy(&function, &address, sizeof function);
    return function;
}
