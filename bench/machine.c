/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * machine.c - the machine: its description, pinning threads, and disturbances.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "machine.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench.h"
#include "counters.h"
#include "family.h"

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#ifndef BENCH_CFLAGS
#define BENCH_CFLAGS "unknown"
#endif

#ifdef __linux__

unsigned machine_processors(void)
{
    static unsigned processors; /* asked once: a pinned thread has only one */
    cpu_set_t set;

    if (processors == 0) {
        processors = 1;
        if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1)
            processors = (unsigned)CPU_COUNT(&set);
    }
    return processors;
}

void machine_pin(unsigned index, unsigned threads)
{
    cpu_set_t all, one;
    unsigned processor, seen = 0;

    if (threads > machine_processors() || sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    for (processor = 0; processor < CPU_SETSIZE; processor++) {
        if (CPU_ISSET(processor, &all) && seen++ == index) {
            CPU_ZERO(&one);
            CPU_SET(processor, &one);
            (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            return;
        }
    }
}

uint64_t machine_waited(void)
{
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    unsigned long long ran, waited, turns;

    if (file == NULL)
        return MACHINE_UNKNOWN;
    if (fscanf(file, "%llu %llu %llu", &ran, &waited, &turns) != 3 || turns == 0)
        waited = MACHINE_UNKNOWN; /* a kernel without these statistics shows zeroes */
    fclose(file);
    return waited;
}

uint64_t machine_switches(void)
{
    struct rusage own;

    return getrusage(RUSAGE_THREAD, &own) == 0 ? (uint64_t)own.ru_nivcsw : 0;
}

/* The fields of the first line of /proc/stat, milliseconds: user, nice, system,
 * idle, waiting for input, interrupts, soft interrupts, stolen. */
#define STAT_FIELDS 8
#define STAT_IDLE 3
#define STAT_STOLEN 7

static void read_stat(double field[STAT_FIELDS])
{
    FILE *file = fopen("/proc/stat", "r");
    double tick = 1000.0 / (double)sysconf(_SC_CLK_TCK);
    unsigned i;

    for (i = 0; i < STAT_FIELDS; i++)
        field[i] = 0.0;
    if (file == NULL || fscanf(file, "cpu") == EOF)
        return;
    for (i = 0; i < STAT_FIELDS && fscanf(file, "%lf", &field[i]) == 1; i++)
        field[i] *= tick;
    fclose(file);
}

double machine_steal(void)
{
    double field[STAT_FIELDS];

    read_stat(field);
    return field[STAT_STOLEN];
}

double machine_others(void)
{
    double field[STAT_FIELDS], busy = 0.0;
    struct rusage own;
    unsigned i;

    read_stat(field);
    for (i = 0; i < STAT_STOLEN; i++)
        if (i != STAT_IDLE && i != STAT_IDLE + 1)
            busy += field[i];
    if (busy == 0.0 || getrusage(RUSAGE_SELF, &own) != 0)
        return 0.0;
    return busy - (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) * 1e3 -
           (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e3;
}

#else /* elsewhere: not pinned, and nothing is known of disturbances */

unsigned machine_processors(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    return processors < 1 ? 1u : (unsigned)processors;
}

void machine_pin(unsigned index, unsigned threads)
{
    (void)index;
    (void)threads;
}

uint64_t machine_waited(void)
{
    return MACHINE_UNKNOWN;
}

uint64_t machine_switches(void)
{
    return 0;
}

double machine_steal(void)
{
    return 0.0;
}

double machine_others(void)
{
    return 0.0;
}

#endif

/* The first line of a file, without its end.  Returns false when there is none. */
static bool read_line(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    bool read;

    if (file == NULL)
        return false;
    read = fgets(text, (int)size, file) != NULL;
    fclose(file);
    if (read)
        text[strcspn(text, "\n")] = '\0';
    return read;
}

/* The value of "key :" in /proc/cpuinfo for the first processor. */
static void read_cpuinfo(const char *key, char *text, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[512], *value;

    snprintf(text, size, "unknown");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) != 0 || (value = strchr(line, ':')) == NULL)
            continue;
        value += strspn(value, ": \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(text, size, "%s", value);
        break;
    }
    fclose(file);
}

static void describe_processor(char *text, size_t size)
{
    char model[96], family[16], number[16];

    read_cpuinfo("model name", model, sizeof model);
    read_cpuinfo("cpu family", family, sizeof family);
    read_cpuinfo("model\t", number, sizeof number);
    snprintf(text, size, "%s, family %s, model %s", model, family, number);
}

/* First-level data, second-level and third-level cache. */
static void describe_caches(char *text, size_t size)
{
    long bytes[3] = { 0, 0, 0 };

#ifdef _SC_LEVEL1_DCACHE_SIZE
    bytes[0] = sysconf(_SC_LEVEL1_DCACHE_SIZE);
    bytes[1] = sysconf(_SC_LEVEL2_CACHE_SIZE);
    bytes[2] = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    if (bytes[0] <= 0)
        snprintf(text, size, "unknown");
    else
        snprintf(text, size, "%ld KiB, %ld KiB, %ld KiB", bytes[0] / 1024, bytes[1] / 1024,
                 bytes[2] / 1024);
}

/* How many programs wanted to run in the last minute, asked once, before ours do. */
static void describe_load(char *text, size_t size)
{
    static double load = -1.0;

    if (load < 0.0 && getloadavg(&load, 1) != 1)
        load = -1.0;
    if (load < 0.0)
        snprintf(text, size, "unknown");
    else
        snprintf(text, size, "%.2f%s", load, load > 0.5 ? ", OTHER PROGRAMS ARE RUNNING" : "");
}

static void describe_system(char *text, size_t size)
{
    struct utsname system;
    char distribution[96] = "";
    FILE *file = fopen("/etc/os-release", "r");
    char line[160];

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "PRETTY_NAME=\"%95[^\"]", distribution) == 1)
            break;
    if (file != NULL)
        fclose(file);
    if (uname(&system) != 0) {
        snprintf(text, size, "unknown");
        return;
    }
    system.release[strcspn(system.release, "-")] = '\0'; /* the rest is the packager's */
    snprintf(text, size, "%.32s %.32s %.32s %s", system.sysname, system.release, system.machine,
             distribution);
}

static void describe_build(char *text, size_t size)
{
    const char *warning = "";

#ifdef BENCH_SANITIZER
    warning = "; INSTRUMENTED by " BENCH_SANITIZER ": figures mean nothing";
#elif !defined(__OPTIMIZE__)
    warning = "; NOT OPTIMISED: figures mean nothing";
#endif
#if defined(__clang__)
    snprintf(text, size, "clang %s, CFLAGS=%s%s", __clang_version__, BENCH_CFLAGS, warning);
#else
    snprintf(text, size, "gcc %s, CFLAGS=%s%s", __VERSION__, BENCH_CFLAGS, warning);
#endif
}

size_t machine_describe(struct machine_fact facts[MACHINE_FACTS])
{
    size_t n = 0;

    facts[n].name = "processor";
    describe_processor(facts[n].text, sizeof facts[n].text);
    facts[++n].name = "family";
    family_here(facts[n].text, sizeof facts[n].text);
    facts[++n].name = "processors";
    snprintf(facts[n].text, sizeof facts[n].text, "%u usable", machine_processors());
    facts[++n].name = "caches";
    describe_caches(facts[n].text, sizeof facts[n].text);
    facts[++n].name = "memory";
    snprintf(facts[n].text, sizeof facts[n].text, "%.0f GiB",
             (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 0x1p30);
    facts[++n].name = "system";
    describe_system(facts[n].text, sizeof facts[n].text);
    facts[++n].name = "build";
    describe_build(facts[n].text, sizeof facts[n].text);
    facts[++n].name = "counters";
    snprintf(facts[n].text, sizeof facts[n].text, "%s%s",
             counters_absent() == NULL ? "cycles and instructions in user mode" : "none: ",
             counters_absent() == NULL ? "" : counters_absent());
    facts[++n].name = "huge pages";
    if (!read_line("/sys/kernel/mm/transparent_hugepage/enabled", facts[n].text,
                   sizeof facts[n].text))
        snprintf(facts[n].text, sizeof facts[n].text, "unknown");
    facts[++n].name = "governor";
    if (!read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", facts[n].text,
                   sizeof facts[n].text))
        snprintf(facts[n].text, sizeof facts[n].text, "unknown");
    facts[++n].name = "load before";
    describe_load(facts[n].text, sizeof facts[n].text);
    return n + 1;
}
