/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.c - cycles and instructions, by Linux's perf_event_open.
 *
 * Includes counters.h only.  The two counters of a thread are one group, which the kernel schedules
 * together, so that their ratio is right.  If others use the processor's counters, too, the group
 * counts only part of the time.  The kernel says which part, and the counts are scaled up.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "counters.h"

#include <stddef.h>

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/perf_event.h>)
#define COUNTERS_PERF 1
#endif
#endif

#ifdef COUNTERS_PERF

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's format for a group of two with times. */
struct counters_group {
    uint64_t members;
    uint64_t enabled, running; /* nanoseconds */
    uint64_t cycles, instructions;
};

/* Opens a counter of the calling thread, in the group of another one unless that is -1. */
static int open_counter(uint64_t event, int group)
{
    struct perf_event_attr wanted;

    memset(&wanted, 0, sizeof wanted);
    wanted.size = sizeof wanted;
    wanted.type = PERF_TYPE_HARDWARE;
    wanted.config = event;
    wanted.exclude_kernel = 1;
    wanted.exclude_hv = 1;
    wanted.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                         PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &wanted, 0, -1, group, 0);
}

void counters_open(struct counters *counters)
{
    counters->instructions = -1;
    counters->cycles = open_counter(PERF_COUNT_HW_CPU_CYCLES, -1);
    if (counters->cycles >= 0)
        counters->instructions = open_counter(PERF_COUNT_HW_INSTRUCTIONS, counters->cycles);
}

bool counters_read(const struct counters *counters, struct counters_reading *reading)
{
    struct counters_group group;
    double scale;

    if (counters->instructions < 0 ||
        read(counters->cycles, &group, sizeof group) != (ssize_t)sizeof group ||
        group.running == 0)
        return false;
    scale = (double)group.enabled / (double)group.running;
    reading->cycles = (double)group.cycles * scale;
    reading->instructions = (double)group.instructions * scale;
    return true;
}

void counters_close(struct counters *counters)
{
    if (counters->instructions >= 0)
        close(counters->instructions);
    if (counters->cycles >= 0)
        close(counters->cycles);
    counters->cycles = counters->instructions = -1;
}

static const char *explain(int error)
{
    if (error == EACCES || error == EPERM)
        return "the system does not permit them (kernel.perf_event_paranoid)";
    if (error == ENOENT || error == ENODEV || error == EOPNOTSUPP)
        return "the machine has none, as most virtual ones";
    return "the kernel has no perf_event_open";
}

const char *counters_absent(void)
{
    static const char *reason;
    static bool asked;
    struct counters counters;
    struct counters_reading reading;

    if (asked)
        return reason;
    asked = true;
    counters_open(&counters);
    if (counters.instructions < 0)
        reason = explain(errno);
    else if (!counters_read(&counters, &reading))
        reason = "they are busy with something else";
    counters_close(&counters);
    return reason;
}

#else /* no such system call */

void counters_open(struct counters *counters)
{
    counters->cycles = counters->instructions = -1;
}

bool counters_read(const struct counters *counters, struct counters_reading *reading)
{
    (void)counters;
    (void)reading;
    return false;
}

void counters_close(struct counters *counters)
{
    (void)counters;
}

const char *counters_absent(void)
{
    return "this system has no perf_event_open";
}

#endif
