/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_histogram.c - tests the error bound that histogram.h states.
 *
 * Includes histogram.h only.  A program of its own, run by make check.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <stdio.h>
#include <stdlib.h>

#include "histogram.h"

static int failures;

static void expect(bool holds, const char *what, uint64_t value)
{
    if (holds)
        return;
    printf("FAILED: %s, for the value %llu\n", what, (unsigned long long)value);
    failures++;
}

/* A value lies in its bucket, and the bucket's largest is near enough. */
static void check_value(uint64_t value)
{
    size_t bucket = bench_histogram_bucket(value);
    uint64_t largest;

    expect(bucket < BENCH_HISTOGRAM_BUCKETS, "the bucket exists", value);
    if (bucket >= BENCH_HISTOGRAM_BUCKETS)
        return;
    largest = bench_histogram_largest(bucket);
    expect(largest >= value, "a bucket's largest value is not below one in it", value);
    expect(largest - value <= value >> BENCH_HISTOGRAM_BITS,
           "the error is one part in 2^BENCH_HISTOGRAM_BITS at most", value);
    expect(bench_histogram_bucket(largest) == bucket, "the largest is in the bucket", value);
    if (largest != UINT64_MAX)
        expect(bench_histogram_bucket(largest + 1) == bucket + 1,
               "buckets follow one another without a gap", value);
}

/* Around every power of two, and at random in between. */
static void check_values(void)
{
    uint64_t random = 1, value;
    unsigned power, i;

    for (value = 0; value < 100000; value++)
        check_value(value);
    for (power = 1; power < 64; power++) {
        value = UINT64_C(1) << power;
        check_value(value - 1);
        check_value(value);
        check_value(value + 1);
        for (i = 0; i < 1000; i++)
            check_value(value + random_next(&random) % value);
    }
    check_value(UINT64_MAX);
}

/* Percentiles of 1 to 100,000 are known. */
static void check_percentiles(void)
{
    static const double shares[] = { 0.001, 0.01, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0 };
    static struct bench_histogram first, second;
    struct bench_histogram *histogram = &first, *total = &second;
    const uint64_t n = 100000;
    uint64_t value, exact, found;
    size_t i;

    expect(bench_histogram_percentile(histogram, 0.5) == 0, "an empty one answers 0", 0);
    for (value = 1; value <= n; value++)
        bench_histogram_add(histogram, value);
    for (i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        exact = (uint64_t)(shares[i] * (double)n + 0.5);
        found = bench_histogram_percentile(histogram, shares[i]);
        expect(found >= exact, "a percentile is not too low", exact);
        expect(found - exact <= exact >> BENCH_HISTOGRAM_BITS, "nor too high", exact);
    }
    expect(bench_histogram_percentile(histogram, 1.0) == n, "the maximum is exact", n);
    bench_histogram_merge(total, histogram);
    bench_histogram_merge(total, histogram);
    expect(total->count == 2 * n && total->max == n, "merging adds up", n);
    expect(bench_histogram_percentile(total, 0.5) == bench_histogram_percentile(histogram, 0.5),
           "twice the same has the same median", n);
    bench_histogram_clear(total);
    expect(bench_histogram_percentile(total, 0.5) == 0, "a cleared one answers 0", 0);
}

int main(void)
{
    check_values();
    check_percentiles();
    printf("the histogram %s\n", failures == 0 ? "keeps its error bound" : "is wrong");
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
