/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.c - the matrix of the benchmark.
 *
 * Includes plan.h, cell.h (for workloads by name) and machine.h.  P is the
 * number of processors:
 *
 *   table       workload                            slot     threads
 *   throughput  same-slot                           64       1 2 4 .. 2P, 8P
 *               burst 1 16 64 256 1024 4096         64       1 2 4 .. 2P (256: 8P)
 *               replace 4096                        64       1 2 4 .. 2P
 *               replace 1000000                     64       1 2 4 .. P
 *               pipe                                64       2 4 .. 2P, 8P
 *               fan-out, fan-in, mesh               64       4 .. 2P
 *               larson 1000, frame 10000            64       1 2 4 .. 2P
 *   order       burst 16 256 4096, fifo and random  64       1, P
 *   slot size   same-slot, burst 256                8 - 4096 1
 *   allocate    allocate(-touch), zeroed(-touch)    8        1, 10,000,000 times
 *   creation    create 2^10 2^15 2^20 2^25 2^30     64       1
 *   latency     latency 256                         64       1, P
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "machine.h"

/* Numbers of threads of an entry. */
#define ONE 0x1u      /* 1 */
#define CORES 0x2u    /* P, when that is more than 1 */
#define POWERS 0x4u   /* 1, 2, 4 ... P */
#define TWICE 0x8u    /* 2P */
#define EIGHTFOLD 0x10u /* 8P */

/* The plans an entry belongs to. */
#define FULL (1u << PLAN_FULL)
#define QUICK (1u << PLAN_QUICK)
#define SMOKE (1u << PLAN_SMOKE)

struct entry {
    unsigned plans;
    enum plan_section section;
    const char *workload;
    size_t parameter;
    enum bench_order order;
    size_t slot_size;
    unsigned threads;
};

static const struct entry entries[] = {
    { FULL, PLAN_THROUGHPUT, "same-slot", 0, BENCH_LIFO, 64, POWERS | TWICE | EIGHTFOLD },
    { FULL, PLAN_THROUGHPUT, "burst", 1, BENCH_LIFO, 64, POWERS | TWICE },
    { FULL, PLAN_THROUGHPUT, "burst", 16, BENCH_LIFO, 64, POWERS | TWICE },
    { FULL, PLAN_THROUGHPUT, "burst", 64, BENCH_LIFO, 64, POWERS | TWICE },
    { FULL, PLAN_THROUGHPUT, "burst", 256, BENCH_LIFO, 64, POWERS | TWICE | EIGHTFOLD },
    { FULL, PLAN_THROUGHPUT, "burst", 1024, BENCH_LIFO, 64, POWERS | TWICE },
    { FULL, PLAN_THROUGHPUT, "burst", 4096, BENCH_LIFO, 64, POWERS | TWICE },
    { FULL, PLAN_THROUGHPUT, "replace", 4096, BENCH_LIFO, 64, POWERS | TWICE },
    { FULL, PLAN_THROUGHPUT, "replace", 1000000, BENCH_LIFO, 64, POWERS },
    { FULL, PLAN_THROUGHPUT, "pipe", 1024, BENCH_LIFO, 64, POWERS | TWICE | EIGHTFOLD },
    { FULL, PLAN_THROUGHPUT, "fan-out", 1024, BENCH_LIFO, 64, TWICE },
    { FULL, PLAN_THROUGHPUT, "fan-in", 1024, BENCH_LIFO, 64, TWICE },
    { FULL, PLAN_THROUGHPUT, "mesh", 1024, BENCH_LIFO, 64, TWICE },
    { FULL, PLAN_THROUGHPUT, "larson", 1000, BENCH_LIFO, 64, POWERS | TWICE },
    { FULL, PLAN_THROUGHPUT, "frame", 10000, BENCH_LIFO, 64, POWERS | TWICE },
    { FULL, PLAN_ORDER, "burst", 16, BENCH_FIFO, 64, ONE | CORES },
    { FULL, PLAN_ORDER, "burst", 16, BENCH_RANDOM, 64, ONE | CORES },
    { FULL, PLAN_ORDER, "burst", 256, BENCH_FIFO, 64, ONE | CORES },
    { FULL, PLAN_ORDER, "burst", 256, BENCH_RANDOM, 64, ONE | CORES },
    { FULL, PLAN_ORDER, "burst", 4096, BENCH_FIFO, 64, ONE | CORES },
    { FULL, PLAN_ORDER, "burst", 4096, BENCH_RANDOM, 64, ONE | CORES },
    { FULL, PLAN_SLOT_SIZE, "same-slot", 0, BENCH_LIFO, 8, ONE },
    { FULL, PLAN_SLOT_SIZE, "same-slot", 0, BENCH_LIFO, 256, ONE },
    { FULL, PLAN_SLOT_SIZE, "same-slot", 0, BENCH_LIFO, 1024, ONE },
    { FULL, PLAN_SLOT_SIZE, "same-slot", 0, BENCH_LIFO, 4096, ONE },
    { FULL, PLAN_SLOT_SIZE, "burst", 256, BENCH_LIFO, 8, ONE },
    { FULL, PLAN_SLOT_SIZE, "burst", 256, BENCH_LIFO, 256, ONE },
    { FULL, PLAN_SLOT_SIZE, "burst", 256, BENCH_LIFO, 1024, ONE },
    { FULL, PLAN_SLOT_SIZE, "burst", 256, BENCH_LIFO, 4096, ONE },
    { FULL, PLAN_ALLOCATE, "allocate", 10000000, BENCH_LIFO, 8, ONE },
    { FULL, PLAN_ALLOCATE, "allocate-touch", 10000000, BENCH_LIFO, 8, ONE },
    { FULL, PLAN_ALLOCATE, "zeroed", 10000000, BENCH_LIFO, 8, ONE },
    { FULL, PLAN_ALLOCATE, "zeroed-touch", 10000000, BENCH_LIFO, 8, ONE },
    { FULL, PLAN_CREATE, "create", 1u << 10, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_CREATE, "create", 1u << 15, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_CREATE, "create", 1u << 20, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_CREATE, "create", 1u << 25, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_CREATE, "create", 1u << 30, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_LATENCY, "latency", 256, BENCH_LIFO, 64, ONE | CORES },

    { QUICK, PLAN_THROUGHPUT, "same-slot", 0, BENCH_LIFO, 64, POWERS | TWICE },
    { QUICK, PLAN_THROUGHPUT, "burst", 16, BENCH_LIFO, 64, POWERS },
    { QUICK, PLAN_THROUGHPUT, "burst", 256, BENCH_LIFO, 64, POWERS },
    { QUICK, PLAN_THROUGHPUT, "burst", 4096, BENCH_LIFO, 64, POWERS },
    { QUICK, PLAN_THROUGHPUT, "replace", 4096, BENCH_LIFO, 64, POWERS },
    { QUICK, PLAN_THROUGHPUT, "pipe", 1024, BENCH_LIFO, 64, POWERS },
    { QUICK, PLAN_THROUGHPUT, "frame", 10000, BENCH_LIFO, 64, CORES },
    { QUICK, PLAN_CREATE, "create", 1u << 20, BENCH_LIFO, 64, ONE },
    { QUICK, PLAN_LATENCY, "latency", 256, BENCH_LIFO, 64, ONE | CORES },

    { SMOKE, PLAN_THROUGHPUT, "same-slot", 0, BENCH_LIFO, 64, ONE },
    { SMOKE, PLAN_THROUGHPUT, "burst", 16, BENCH_LIFO, 8, ONE },
    { SMOKE, PLAN_THROUGHPUT, "replace", 1024, BENCH_LIFO, 64, ONE },
    { SMOKE, PLAN_THROUGHPUT, "pipe", 64, BENCH_LIFO, 64, TWICE },
    { SMOKE, PLAN_THROUGHPUT, "fan-out", 64, BENCH_LIFO, 64, TWICE },
    { SMOKE, PLAN_THROUGHPUT, "fan-in", 64, BENCH_LIFO, 64, TWICE },
    { SMOKE, PLAN_THROUGHPUT, "mesh", 64, BENCH_LIFO, 64, TWICE },
    { SMOKE, PLAN_THROUGHPUT, "larson", 100, BENCH_LIFO, 64, ONE },
    { SMOKE, PLAN_THROUGHPUT, "frame", 1000, BENCH_LIFO, 64, TWICE },
    { SMOKE, PLAN_ORDER, "burst", 16, BENCH_FIFO, 64, ONE },
    { SMOKE, PLAN_ORDER, "burst", 16, BENCH_RANDOM, 64, ONE },
    { SMOKE, PLAN_SLOT_SIZE, "burst", 64, BENCH_LIFO, 4096, ONE },
    { SMOKE, PLAN_ALLOCATE, "allocate", 1000, BENCH_LIFO, 8, ONE },
    { SMOKE, PLAN_ALLOCATE, "allocate-touch", 1000, BENCH_LIFO, 8, ONE },
    { SMOKE, PLAN_ALLOCATE, "zeroed", 1000, BENCH_LIFO, 8, ONE },
    { SMOKE, PLAN_ALLOCATE, "zeroed-touch", 1000, BENCH_LIFO, 8, ONE },
    { SMOKE, PLAN_CREATE, "create", 1u << 10, BENCH_LIFO, 64, ONE },
    { SMOKE, PLAN_LATENCY, "latency", 64, BENCH_LIFO, 64, ONE },
};

const char *plan_title(enum plan_section section)
{
    static const char *const titles[PLAN_SECTIONS] = {
        "Throughput, slots of 64 bytes: nanoseconds per operation and processor",
        "Order of return, slots of 64 bytes: nanoseconds per pair and processor",
        "Slot size: nanoseconds per pair",
        "Allocating only, slots of 8 bytes: nanoseconds per slot",
        "Creating and destroying a pool, slots of 64 bytes: nanoseconds per pool",
        "Latency of single operations: nanoseconds",
    };

    return titles[section];
}

void plan_init(struct plan *plan, enum plan_size size)
{
    memset(plan, 0, sizeof *plan);
    plan->milliseconds = size == PLAN_SMOKE ? 0 : size == PLAN_QUICK ? 20 : 50;
    plan->repetitions = size == PLAN_SMOKE ? 1 : size == PLAN_QUICK ? 3 : 5;
}

void plan_fini(struct plan *plan)
{
    free(plan->lines);
}

static struct plan_line *new_line(struct plan *plan)
{
    if (plan->count == plan->room) {
        plan->room = plan->room == 0 ? 64 : plan->room * 2;
        plan->lines = realloc(plan->lines, plan->room * sizeof *plan->lines);
        if (plan->lines == NULL)
            bench_fail("no memory for the plan");
    }
    memset(&plan->lines[plan->count], 0, sizeof plan->lines[plan->count]);
    return &plan->lines[plan->count++];
}

/* "burst 256 fifo", "create 2^20", ... */
static void name_line(struct plan_line *line)
{
    static const char *const orders[] = { "", " fifo", " random" };
    size_t parameter = line->cell.parameter;
    char number[24] = "", bytes[16] = "";

    if (line->section == PLAN_CREATE && parameter != 0 && (parameter & (parameter - 1)) == 0)
        snprintf(number, sizeof number, " 2^%d", __builtin_ctzll(parameter));
    else if (parameter != 0)
        snprintf(number, sizeof number, " %zu", parameter);
    if (line->section == PLAN_SLOT_SIZE)
        snprintf(bytes, sizeof bytes, ", %zu B", line->cell.slot_size);
    snprintf(line->label, sizeof line->label, "%s%s%s%s", line->workload->name, number,
             orders[line->cell.order], bytes);
}

static void add_line(struct plan *plan, const struct entry *entry, unsigned threads)
{
    const struct bench_workload *workload = cell_workload(entry->workload);
    struct plan_line *line;

    if (workload == NULL)
        bench_fail("the plan names an unknown workload, %s", entry->workload);
    if (threads < workload->minimum_threads)
        return;
    line = new_line(plan);
    line->section = entry->section;
    line->workload = workload;
    line->cell.parameter = entry->parameter;
    line->cell.order = entry->order;
    line->cell.slot_size = entry->slot_size;
    line->cell.threads = threads;
    line->cell.milliseconds = plan->milliseconds;
    line->cell.magazine_rounds = plan->magazine_rounds;
    name_line(line);
}

static void add_entry(struct plan *plan, const struct entry *entry, unsigned processors)
{
    unsigned threads;

    if ((entry->threads & ONE) != 0)
        add_line(plan, entry, 1);
    for (threads = 1; (entry->threads & POWERS) != 0 && threads < processors; threads *= 2)
        add_line(plan, entry, threads);
    if ((entry->threads & POWERS) != 0 || ((entry->threads & CORES) != 0 && processors > 1))
        add_line(plan, entry, processors);
    if ((entry->threads & TWICE) != 0)
        add_line(plan, entry, 2 * processors);
    if ((entry->threads & EIGHTFOLD) != 0)
        add_line(plan, entry, 8 * processors);
}

void plan_fill(struct plan *plan, enum plan_size size)
{
    unsigned processors = machine_processors();
    size_t i;

    for (i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if ((entries[i].plans & 1u << size) != 0)
            add_entry(plan, &entries[i], processors);
}

bool plan_add(struct plan *plan, const char *text, size_t slot_size, unsigned threads)
{
    struct entry entry = { 0, PLAN_THROUGHPUT, NULL, 0, BENCH_LIFO, 64, 0 };
    char name[32], order[16] = "";
    size_t i;

    if (sscanf(text, "%31[^:]:%zu:%15s", name, &entry.parameter, order) < 1 ||
        cell_workload(name) == NULL)
        return false;
    entry.workload = name;
    entry.slot_size = slot_size;
    entry.order = strcmp(order, "fifo") == 0     ? BENCH_FIFO
                  : strcmp(order, "random") == 0 ? BENCH_RANDOM
                                                 : BENCH_LIFO;
    for (i = 0; entry.parameter == 0 && i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entries[i].workload, name) == 0)
            entry.parameter = entries[i].parameter;
    if (strcmp(name, "latency") == 0)
        entry.section = PLAN_LATENCY;
    add_line(plan, &entry, threads);
    return true;
}

void plan_keep_threads(struct plan *plan, const unsigned *threads, size_t count)
{
    size_t kept = 0, i, j;

    for (i = 0; i < plan->count; i++) {
        for (j = 0; j < count && threads[j] != plan->lines[i].cell.threads; j++)
            continue;
        if (j < count)
            plan->lines[kept++] = plan->lines[i];
    }
    plan->count = kept;
}
