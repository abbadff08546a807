/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.c - what reading the clock costs, how long a tick is, and latencies
 * reported with both taken into account.
 *
 * Includes histogram.h only.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <stdio.h>

#include "histogram.h"

/* How often the clock is read to learn what reading it costs. */
#define CLOCK_READINGS 20000u

/* How long the ticks are counted to learn how long one is, nanoseconds. */
#define CLOCK_CALIBRATION 2000000u

/* Ticks between two readings with nothing in between: the median. */
static uint64_t clock_cost(void)
{
    struct bench_histogram *empty =
        (struct bench_histogram *)bench_memory(1, sizeof *empty);
    unsigned i;

    for (i = 0; i < CLOCK_READINGS; i++) {
        uint64_t start = bench_ticks_start();

        bench_histogram_add(empty, bench_ticks_stop() - start);
    }
    return bench_histogram_percentile(empty, 0.5);
}

/* Nanoseconds per tick. */
static double clock_tick(void)
{
    uint64_t start = bench_now(), ticks = bench_ticks_start(), now;

    do
        now = bench_now();
    while (now - start < CLOCK_CALIBRATION);
    ticks = bench_ticks_stop() - ticks;
    return ticks == 0 ? 1.0 : (double)(now - start) / (double)ticks;
}

void bench_histogram_report(const char *what, const struct bench_histogram *histogram)
{
    static const struct {
        const char *name;
        double share;
    } shown[] = { { "p50", 0.5 }, { "p99", 0.99 }, { "p99.9", 0.999 }, { "p99.99", 0.9999 },
                  { "max", 1.0 } };
    uint64_t cost = clock_cost(), value;
    double tick = clock_tick();
    char name[32];
    size_t i;

    for (i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        value = bench_histogram_percentile(histogram, shown[i].share);
        snprintf(name, sizeof name, "%s.%s", what, shown[i].name);
        bench_metric(name, value > cost ? (double)(value - cost) * tick : 0.0);
    }
    bench_metric("clock", (double)cost * tick);
    bench_metric("tick", tick);
    for (i = 0; i < BENCH_HISTOGRAM_BUCKETS; i++)
        if (histogram->buckets[i] != 0)
            bench_bucket(what, i, histogram->buckets[i]);
}

void bench_histogram_microseconds(const char *what, const struct bench_histogram *histogram)
{
    static const char *const names[] = { "p50", "p99", "max" };
    static const double shares[] = { 0.5, 0.99, 1.0 };
    uint64_t cost = clock_cost(), value;
    double tick = clock_tick() / 1e3;
    char name[32];
    size_t i;

    if (histogram->count == 0)
        return;
    for (i = 0; i < 3; i++) {
        value = bench_histogram_percentile(histogram, shares[i]);
        snprintf(name, sizeof name, "%s.%s", what, names[i]);
        bench_metric(name, value > cost ? (double)(value - cost) * tick : 0.0);
    }
    snprintf(name, sizeof name, "%s.count", what);
    bench_metric(name, (double)histogram->count);
}
