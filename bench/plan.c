/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.c - the matrix of the benchmark.
 *
 * Includes plan.h, cell.h (for workloads by name) and machine.h.  P is the
 * number of processors:
 *
 *   table       workload                            slot     threads
 *   throughput  same-slot                           64       1 2 4 .. P, 2P, 8P
 *               burst 1 16 64 256 1024 4096         64       the same
 *               replace 4096                        64       the same
 *               replace 1000000                     64       1 2 4 .. P
 *               pipe                                64       2 4 .. P, 2P, 8P
 *               fan-out, fan-in, mesh               64       4 8 .. P, 2P, 8P
 *               larson 1000, frame 10000            64       1 2 4 .. P, 2P, 8P
 *   modes       same-slot, burst 16 256 4096        64       1 2, of throughput
 *   order       burst 16 64 256 1024 4096, fifo and random   1, P
 *   slot size   same-slot, replace 4096             8 - 4096 1
 *               burst 256                           8 - 4096 1, P
 *   allocate    allocate(-touch), zeroed(-touch)    8        1, 10,000,000 times
 *   creation    create 2^10 2^15 2^20 2^25 2^30     64       1
 *   latency     latency 256 4096                    64       1, P
 *   occupancy   occupancy 64, last-slot 64          64       1 2 4 .. 2P, 8P
 *   waiting     waiters, pressure 64                64       2 4 8
 *   reclaiming  reclaim 1024                        64       1 2 4
 *   retiring    retire 512                          64       1 2 4 16
 *   figures     recall 1 7 63                       64       1, and 1 7 63 that sleep
 *               hand-off                            64       2
 *               locality 1000000, grow 2^20         64       1
 *   objects     resolve 1000000                     64       1
 *               foreach 1 10 50 90 (percent)        64       1
 *               frame-end 1000 10000                64       1
 *               object-frame 10000                  64       1
 *
 * `--scale` has a plan of its own: same-slot, burst 256 and 4096, pipe and frame with 1
 * 2 4 ..  P, 2P and 8P threads, and mesh from 4 on.  Its rings have little room,
 * because there are half as many squared as threads.
 *
 * A burst of 1 has one order of return only.  With two threads, fan-out and
 * fan-in are pipe.
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
#define OVER 0x10u    /* 2P, 8P */
#define GROUPS 0x20u  /* 4 8 .. P, 2P, 8P */
#define EIGHTFOLD 0x40u /* 8P */
#define PAIR 0x80u      /* 2, however many processors */
#define SEVERAL 0x100u  /* 2, 4 and 8, likewise */
#define FEW 0x200u      /* 1, 2 and 4, likewise */
#define SIXTEEN 0x400u  /* 16, likewise */

/* Most repetitions of a line that runs one long chunk. */
#define ONCE_MOST 3u

/* The plans an entry belongs to. */
#define FULL (1u << PLAN_FULL)
#define QUICK (1u << PLAN_QUICK)
#define SMOKE (1u << PLAN_SMOKE)
#define SCALE (1u << PLAN_SCALE)

/* The modes of libcpool take part, with 1 and 2 threads. */
#define MODES (1u << 8)
#define MODES_THREADS 2u

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
    { FULL | MODES, PLAN_THROUGHPUT, "same-slot", 0, BENCH_LIFO, 64, POWERS | OVER },
    { FULL, PLAN_THROUGHPUT, "burst", 1, BENCH_LIFO, 64, POWERS | OVER },
    { FULL | MODES, PLAN_THROUGHPUT, "burst", 16, BENCH_LIFO, 64, POWERS | OVER },
    { FULL, PLAN_THROUGHPUT, "burst", 64, BENCH_LIFO, 64, POWERS | OVER },
    { FULL | MODES, PLAN_THROUGHPUT, "burst", 256, BENCH_LIFO, 64, POWERS | OVER },
    { FULL, PLAN_THROUGHPUT, "burst", 1024, BENCH_LIFO, 64, POWERS | OVER },
    { FULL | MODES, PLAN_THROUGHPUT, "burst", 4096, BENCH_LIFO, 64, POWERS | OVER },
    { FULL, PLAN_THROUGHPUT, "replace", 4096, BENCH_LIFO, 64, POWERS | OVER },
    { FULL, PLAN_THROUGHPUT, "replace", 1000000, BENCH_LIFO, 64, POWERS },
    { FULL, PLAN_THROUGHPUT, "pipe", 1024, BENCH_LIFO, 64, POWERS | OVER },
    { FULL, PLAN_THROUGHPUT, "fan-out", 1024, BENCH_LIFO, 64, GROUPS },
    { FULL, PLAN_THROUGHPUT, "fan-in", 1024, BENCH_LIFO, 64, GROUPS },
    { FULL, PLAN_THROUGHPUT, "mesh", 1024, BENCH_LIFO, 64, GROUPS },
    { FULL, PLAN_THROUGHPUT, "larson", 1000, BENCH_LIFO, 64, POWERS | OVER },
    { FULL, PLAN_THROUGHPUT, "frame", 10000, BENCH_LIFO, 64, POWERS | OVER },
    { FULL, PLAN_ORDER, "burst", 16, BENCH_FIFO, 64, ONE | CORES },
    { FULL, PLAN_ORDER, "burst", 16, BENCH_RANDOM, 64, ONE | CORES },
    { FULL, PLAN_ORDER, "burst", 64, BENCH_FIFO, 64, ONE | CORES },
    { FULL, PLAN_ORDER, "burst", 64, BENCH_RANDOM, 64, ONE | CORES },
    { FULL, PLAN_ORDER, "burst", 256, BENCH_FIFO, 64, ONE | CORES },
    { FULL, PLAN_ORDER, "burst", 256, BENCH_RANDOM, 64, ONE | CORES },
    { FULL, PLAN_ORDER, "burst", 1024, BENCH_FIFO, 64, ONE | CORES },
    { FULL, PLAN_ORDER, "burst", 1024, BENCH_RANDOM, 64, ONE | CORES },
    { FULL, PLAN_ORDER, "burst", 4096, BENCH_FIFO, 64, ONE | CORES },
    { FULL, PLAN_ORDER, "burst", 4096, BENCH_RANDOM, 64, ONE | CORES },
    { FULL, PLAN_SLOT_SIZE, "same-slot", 0, BENCH_LIFO, 8, ONE },
    { FULL, PLAN_SLOT_SIZE, "same-slot", 0, BENCH_LIFO, 256, ONE },
    { FULL, PLAN_SLOT_SIZE, "same-slot", 0, BENCH_LIFO, 1024, ONE },
    { FULL, PLAN_SLOT_SIZE, "same-slot", 0, BENCH_LIFO, 4096, ONE },
    { FULL, PLAN_SLOT_SIZE, "burst", 256, BENCH_LIFO, 8, ONE | CORES },
    { FULL, PLAN_SLOT_SIZE, "burst", 256, BENCH_LIFO, 256, ONE | CORES },
    { FULL, PLAN_SLOT_SIZE, "burst", 256, BENCH_LIFO, 1024, ONE | CORES },
    { FULL, PLAN_SLOT_SIZE, "burst", 256, BENCH_LIFO, 4096, ONE | CORES },
    { FULL, PLAN_SLOT_SIZE, "replace", 4096, BENCH_LIFO, 8, ONE },
    { FULL, PLAN_SLOT_SIZE, "replace", 4096, BENCH_LIFO, 256, ONE },
    { FULL, PLAN_SLOT_SIZE, "replace", 4096, BENCH_LIFO, 1024, ONE },
    { FULL, PLAN_SLOT_SIZE, "replace", 4096, BENCH_LIFO, 4096, ONE },
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
    { FULL, PLAN_LATENCY, "latency", 4096, BENCH_LIFO, 64, ONE | CORES },
    { FULL, PLAN_OCCUPANCY, "occupancy", 64, BENCH_LIFO, 64, POWERS | TWICE | EIGHTFOLD },
    { FULL, PLAN_OCCUPANCY, "last-slot", 64, BENCH_LIFO, 64, POWERS | TWICE | EIGHTFOLD },
    { FULL, PLAN_WAITERS, "waiters", 0, BENCH_LIFO, 64, SEVERAL },
    { FULL | QUICK, PLAN_WAITERS, "pressure", 64, BENCH_LIFO, 64, SEVERAL },
    { FULL, PLAN_RECLAIM, "reclaim", 1024, BENCH_LIFO, 64, FEW },
    { FULL, PLAN_RETIRE, "retire", 512, BENCH_LIFO, 64, FEW | SIXTEEN },
    { FULL, PLAN_FIGURES, "recall", 1, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_FIGURES, "recall", 7, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_FIGURES, "recall", 63, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_FIGURES, "hand-off", 0, BENCH_LIFO, 64, PAIR },
    { FULL, PLAN_FIGURES, "locality", 1000000, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_FIGURES, "grow", 1u << 20, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_OBJECTS, "resolve", 1000000, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_OBJECTS, "foreach", 1, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_OBJECTS, "foreach", 10, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_OBJECTS, "foreach", 50, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_OBJECTS, "foreach", 90, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_OBJECTS, "frame-end", 1000, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_OBJECTS, "frame-end", 10000, BENCH_LIFO, 64, ONE },
    { FULL, PLAN_OBJECTS, "object-frame", 10000, BENCH_LIFO, 64, ONE },

    { QUICK | MODES, PLAN_THROUGHPUT, "same-slot", 0, BENCH_LIFO, 64, POWERS | EIGHTFOLD },
    { QUICK | MODES, PLAN_THROUGHPUT, "burst", 16, BENCH_LIFO, 64, POWERS },
    { QUICK | MODES, PLAN_THROUGHPUT, "burst", 256, BENCH_LIFO, 64, POWERS },
    { QUICK | MODES, PLAN_THROUGHPUT, "burst", 4096, BENCH_LIFO, 64, POWERS },
    { QUICK, PLAN_THROUGHPUT, "replace", 4096, BENCH_LIFO, 64, POWERS },
    { QUICK, PLAN_THROUGHPUT, "pipe", 1024, BENCH_LIFO, 64, POWERS },
    { QUICK, PLAN_THROUGHPUT, "frame", 10000, BENCH_LIFO, 64, CORES },
    { QUICK, PLAN_CREATE, "create", 1u << 20, BENCH_LIFO, 64, ONE },
    { QUICK, PLAN_LATENCY, "latency", 256, BENCH_LIFO, 64, ONE | CORES },
    { QUICK, PLAN_OCCUPANCY, "last-slot", 64, BENCH_LIFO, 64, CORES | EIGHTFOLD },
    { QUICK, PLAN_RETIRE, "retire", 512, BENCH_LIFO, 64, PAIR },
    { QUICK, PLAN_FIGURES, "recall", 7, BENCH_LIFO, 64, ONE },
    { QUICK, PLAN_FIGURES, "hand-off", 0, BENCH_LIFO, 64, PAIR },
    { QUICK, PLAN_FIGURES, "locality", 1000000, BENCH_LIFO, 64, ONE },
    { QUICK, PLAN_FIGURES, "grow", 1u << 20, BENCH_LIFO, 64, ONE },

    { SCALE, PLAN_SCALING, "same-slot", 0, BENCH_LIFO, 64, POWERS | OVER },
    { SCALE, PLAN_SCALING, "burst", 256, BENCH_LIFO, 64, POWERS | OVER },
    { SCALE, PLAN_SCALING, "burst", 4096, BENCH_LIFO, 64, POWERS | OVER },
    { SCALE, PLAN_SCALING, "pipe", 1024, BENCH_LIFO, 64, POWERS | OVER },
    { SCALE, PLAN_SCALING, "mesh", 32, BENCH_LIFO, 64, GROUPS },
    { SCALE, PLAN_SCALING, "frame", 10000, BENCH_LIFO, 64, POWERS | OVER },

    { SMOKE | MODES, PLAN_THROUGHPUT, "same-slot", 0, BENCH_LIFO, 64, ONE },
    { SMOKE | MODES, PLAN_THROUGHPUT, "burst", 16, BENCH_LIFO, 8, ONE },
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
    { SMOKE, PLAN_OCCUPANCY, "occupancy", 16, BENCH_LIFO, 64, ONE | TWICE },
    { SMOKE, PLAN_OCCUPANCY, "last-slot", 16, BENCH_LIFO, 64, ONE | TWICE },
    { SMOKE, PLAN_WAITERS, "waiters", 0, BENCH_LIFO, 64, SEVERAL },
    { SMOKE, PLAN_WAITERS, "pressure", 64, BENCH_LIFO, 64, SEVERAL },
    { SMOKE, PLAN_FIGURES, "recall", 3, BENCH_LIFO, 64, ONE },
    { SMOKE, PLAN_FIGURES, "hand-off", 0, BENCH_LIFO, 64, PAIR },
    { SMOKE, PLAN_FIGURES, "locality", 1000, BENCH_LIFO, 64, ONE },
    { SMOKE, PLAN_FIGURES, "grow", 16384, BENCH_LIFO, 64, ONE },
    { SMOKE, PLAN_RECLAIM, "reclaim", 64, BENCH_LIFO, 64, FEW },
    { SMOKE, PLAN_RETIRE, "retire", 64, BENCH_LIFO, 64, FEW | SIXTEEN },
    { SMOKE, PLAN_OBJECTS, "resolve", 1000, BENCH_LIFO, 64, ONE },
    { SMOKE, PLAN_OBJECTS, "foreach", 10, BENCH_LIFO, 64, ONE },
    { SMOKE, PLAN_OBJECTS, "frame-end", 1000, BENCH_LIFO, 64, ONE },
    { SMOKE, PLAN_OBJECTS, "object-frame", 1000, BENCH_LIFO, 64, ONE },
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
        "A full pool, slots of 64 bytes: nanoseconds per slot obtained and processor",
        ("Waiting for slots of 64 bytes, in `waiters` half as many as threads: nanoseconds per\n"
         "pair and processor"),
        ("A dry priority pool: nanoseconds per object reclaimed and processor (mutex: an indexed\n"
         "binary heap behind it)"),
        ("Nodes of 64 bytes that are replaced while others read them: nanoseconds of its thread's\n"
         "processor time for an update (allocate, publish, retire)"),
        "Scaling, slots of 64 bytes",
        "Figures of their own, in the units named",
        ("Handles, visits, frames and objects, slots of 64 bytes (cpool in resolve and foreach:\n"
         "CPOOL_TRACKED)"),
    };

    return titles[section];
}

void plan_init(struct plan *plan, enum plan_size size)
{
    static const unsigned milliseconds[] = {
        [PLAN_FULL] = 30, [PLAN_QUICK] = 20, [PLAN_SMOKE] = 0, [PLAN_SCALE] = 50
    };
    static const unsigned repetitions[] = {
        [PLAN_FULL] = 4, [PLAN_QUICK] = 3, [PLAN_SMOKE] = 1, [PLAN_SCALE] = 3
    };
    static const double seconds[] = {
        [PLAN_FULL] = 660.0, [PLAN_QUICK] = 105.0, [PLAN_SMOKE] = 0.0, [PLAN_SCALE] = 270.0
    };

    memset(plan, 0, sizeof *plan);
    plan->milliseconds = milliseconds[size];
    plan->repetitions = repetitions[size];
    plan->seconds = seconds[size];
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

/* Whether the last line is just that: where P is odd, and pairs are asked for. */
static bool is_last(const struct plan *plan, const struct entry *entry,
                    const struct bench_workload *workload, unsigned threads)
{
    const struct plan_line *last = plan->count == 0 ? NULL : &plan->lines[plan->count - 1];

    return last != NULL && last->workload == workload && last->cell.threads == threads &&
           last->cell.parameter == entry->parameter && last->cell.order == entry->order &&
           last->cell.slot_size == entry->slot_size;
}

static void add_line(struct plan *plan, const struct entry *entry, unsigned threads)
{
    const struct bench_workload *workload = cell_workload(entry->workload);
    struct plan_line *line;

    if (workload == NULL)
        bench_fail("the plan names an unknown workload, %s", entry->workload);
    if ((workload->traits & BENCH_PAIRED) != 0)
        threads -= threads % 2;
    if (threads < workload->minimum_threads || is_last(plan, entry, workload, threads))
        return;
    line = new_line(plan);
    line->section = entry->section;
    line->workload = workload;
    line->cell.parameter = entry->parameter;
    line->cell.order = entry->order;
    line->cell.slot_size = entry->slot_size;
    line->cell.threads = threads;
    line->cell.config = "";
    line->modes = (entry->plans & MODES) != 0 && threads <= MODES_THREADS;
    name_line(line);
}

static void add_entry(struct plan *plan, const struct entry *entry, unsigned processors)
{
    unsigned set = entry->threads, threads;

    if ((set & ONE) != 0)
        add_line(plan, entry, 1);
    for (threads = 1; (set & POWERS) != 0 && threads < processors; threads *= 2)
        add_line(plan, entry, threads);
    if ((set & POWERS) != 0 || ((set & CORES) != 0 && processors > 1))
        add_line(plan, entry, processors);
    for (threads = 4; (set & GROUPS) != 0 && threads <= processors; threads *= 2)
        add_line(plan, entry, threads);
    if ((set & (TWICE | OVER | GROUPS)) != 0)
        add_line(plan, entry, 2 * processors);
    if ((set & (OVER | GROUPS | EIGHTFOLD)) != 0)
        add_line(plan, entry, 8 * processors);
    for (threads = 1; (set & FEW) != 0 && threads <= 4; threads *= 2)
        add_line(plan, entry, threads);
    if ((set & SIXTEEN) != 0)
        add_line(plan, entry, 16);
    for (threads = 2; (set & (PAIR | SEVERAL)) != 0 && threads <= 8; threads *= 2)
        if (threads == 2 || (set & SEVERAL) != 0)
            add_line(plan, entry, threads);
}

void plan_fill(struct plan *plan, enum plan_size size)
{
    unsigned processors = machine_processors();
    size_t i;

    for (i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if ((entries[i].plans & 1u << size) != 0)
            add_entry(plan, &entries[i], processors);
}

const char *plan_add(struct plan *plan, const char *text, size_t slot_size, unsigned threads)
{
    struct entry entry = { 0, PLAN_THROUGHPUT, NULL, 0, BENCH_LIFO, 64, 0 };
    const struct bench_workload *workload;
    char name[32], order[16] = "";
    const char *reason;
    size_t i;

    if (sscanf(text, "%31[^:]:%zu:%15s", name, &entry.parameter, order) < 1 ||
        (workload = cell_workload(name)) == NULL)
        return "no such workload";
    reason = cell_unfit(workload, threads);
    if (reason != NULL)
        return reason;
    entry.workload = name;
    entry.slot_size = slot_size;
    entry.order = strcmp(order, "fifo") == 0     ? BENCH_FIFO
                  : strcmp(order, "random") == 0 ? BENCH_RANDOM
                                                 : BENCH_LIFO;
    for (i = 0; entry.parameter == 0 && i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entries[i].workload, name) == 0)
            entry.parameter = entries[i].parameter;
    /* These have columns of their own. */
    for (i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entries[i].workload, name) == 0 && entries[i].section >= PLAN_LATENCY &&
            entries[i].section != PLAN_SCALING)
            entry.section = entries[i].section;
    add_line(plan, &entry, threads);
    return NULL;
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

void plan_settle(struct plan *plan)
{
    unsigned processors = machine_processors();
    size_t i;

    for (i = 0; i < plan->count; i++) {
        struct bench_cell *cell = &plan->lines[i].cell;

        cell->milliseconds = plan->milliseconds * (cell->threads > processors ? 2 : 1);
        plan->lines[i].repetitions = plan->repetitions;
        /* Ten million operations are a sample that is large enough. */
        if ((plan->lines[i].workload->traits & BENCH_ONCE) != 0 && plan->repetitions > ONCE_MOST)
            plan->lines[i].repetitions = ONCE_MOST;
    }
}

/* Whether a name is among those between commas. */
static bool is_listed(const char *names, const char *name)
{
    size_t length = strlen(name);

    while (strncmp(names, name, length) != 0 || (names[length] != ',' && names[length] != '\0')) {
        names += strcspn(names, ",");
        if (*names++ == '\0')
            return false;
    }
    return true;
}

bool plan_keep_workloads(struct plan *plan, const char *names)
{
    size_t kept = 0, i;

    for (i = 0; i < plan->count; i++)
        if (is_listed(names, plan->lines[i].workload->name))
            plan->lines[kept++] = plan->lines[i];
    plan->count = kept;
    return kept != 0;
}
