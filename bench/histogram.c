/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * histogram.c - the log-linear histogram (histogram.h).
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "histogram.h"

#include <string.h>

uint64_t bench_histogram_largest(size_t bucket)
{
    size_t shift = bucket >> BENCH_HISTOGRAM_BITS;

    if (shift <= 1)
        return (uint64_t)bucket;
    shift--;
    return ((uint64_t)(bucket - (shift << BENCH_HISTOGRAM_BITS) + 1) << shift) - 1;
}

uint64_t bench_histogram_percentile(const struct bench_histogram *histogram, double share)
{
    uint64_t rank = (uint64_t)(share * (double)histogram->count + 0.5), seen = 0;
    size_t bucket;

    if (rank == 0)
        rank = 1;
    for (bucket = 0; bucket < BENCH_HISTOGRAM_BUCKETS; bucket++) {
        seen += histogram->buckets[bucket];
        if (seen >= rank) {
            uint64_t largest = bench_histogram_largest(bucket);

            return largest < histogram->max ? largest : histogram->max;
        }
    }
    return histogram->max;
}

void bench_histogram_clear(struct bench_histogram *histogram)
{
    memset(histogram, 0, sizeof *histogram);
}

void bench_histogram_merge(struct bench_histogram *into, const struct bench_histogram *from)
{
    size_t bucket;

    for (bucket = 0; bucket < BENCH_HISTOGRAM_BUCKETS; bucket++)
        into->buckets[bucket] += from->buckets[bucket];
    into->count += from->count;
    if (from->max > into->max)
        into->max = from->max;
}
