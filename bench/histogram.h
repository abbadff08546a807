/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * histogram.h - a log-linear histogram of clock ticks, and the clock.
 *
 * Includes bench.h only.  Each power of two is divided into 2^BENCH_HISTOGRAM_BITS equal buckets,
 * so values are known to within one part in 2^BENCH_HISTOGRAM_BITS.  Below 2^(BENCH_HISTOGRAM_BITS
 * + 1) they are exact:
 *
 *     0 1 2 ... 127 | 128-129 130-131 ... | 256-259 260-263 ... | ...
 *
 * A percentile is the largest value of its bucket: never too low, and at most
 * one part in 2^BENCH_HISTOGRAM_BITS too high (tested by check_histogram.c).
 */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Linear buckets in each power of two: 64, an error of 1.6 percent at most. */
#define BENCH_HISTOGRAM_BITS 6
#define BENCH_HISTOGRAM_BUCKETS ((size_t)(64 - BENCH_HISTOGRAM_BITS + 1) << BENCH_HISTOGRAM_BITS)

struct bench_histogram {
    uint64_t count; /* values added */
    uint64_t max;   /* the largest of them, exact */
    uint64_t buckets[BENCH_HISTOGRAM_BUCKETS];
};

static inline size_t bench_histogram_bucket(uint64_t value)
{
    unsigned shift = 0;

    if (value >> (BENCH_HISTOGRAM_BITS + 1) != 0)
        shift = 63u - (unsigned)__builtin_clzll(value) - BENCH_HISTOGRAM_BITS;
    return ((size_t)shift << BENCH_HISTOGRAM_BITS) + (size_t)(value >> shift);
}

static inline void bench_histogram_add(struct bench_histogram *histogram, uint64_t value)
{
    histogram->buckets[bench_histogram_bucket(value)]++;
    histogram->count++;
    if (value > histogram->max)
        histogram->max = value;
}

/* The largest value that falls into a bucket. */
uint64_t bench_histogram_largest(size_t bucket);

/* The smallest value that at least this share (0 to 1) of all values do not exceed. 0 if empty. */
uint64_t bench_histogram_percentile(const struct bench_histogram *histogram, double share);

void bench_histogram_clear(struct bench_histogram *histogram);
void bench_histogram_merge(struct bench_histogram *into, const struct bench_histogram *from);

/* Prints metrics `what`.p50 ... `what`.max in nanoseconds, the clock's own cost
 * subtracted, that cost as clock, nanoseconds per tick, and every bucket (clock.c). */
void bench_histogram_report(const char *what, const struct bench_histogram *histogram);

/* Prints metrics `what`.p50, .p99 and .max in microseconds, the clock's own cost
 * subtracted, and the number of values as .count.  Prints nothing when it is empty
 * (clock.c). */
void bench_histogram_microseconds(const char *what, const struct bench_histogram *histogram);

/*
 * The clock is the time-stamp counter where it can be read without a system call, fenced so that
 * neighbouring instructions do not move across it.  Elsewhere it is the monotonic clock.
 */
static inline uint64_t bench_ticks_start(void)
{
#if defined(__SSE2__)
    uint64_t ticks;

    __builtin_ia32_lfence();
    ticks = __builtin_ia32_rdtsc();
    __builtin_ia32_lfence();
    return ticks;
#else
    return bench_now();
#endif
}

static inline uint64_t bench_ticks_stop(void)
{
#if defined(__SSE2__)
    unsigned processor;
    uint64_t ticks = __builtin_ia32_rdtscp(&processor);

    __builtin_ia32_lfence();
    return ticks;
#else
    return bench_now();
#endif
}

#ifdef __cplusplus
}
#endif

#endif /* BENCH_HISTOGRAM_H */
