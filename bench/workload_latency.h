/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_latency.h - how long single operations take: the distribution.
 *
 * Included by workloads.h, once per rival.  Bursts of random length, from 1 to the parameter.
 * Every alloc and every free is timed individually, without touching the slot, and the cost of
 * reading the clock is subtracted.
 */

struct latency {
    void **slots;
    struct bench_histogram alloc, release;
};

static size_t latency_live(const struct bench_cell *cell)
{
    return cell->parameter * cell->threads;
}

static void latency_setup(struct bench_worker *self)
{
    struct latency *latency = (struct latency *)bench_memory(1, sizeof *latency);

    latency->slots = (void **)bench_memory(self->cell->parameter, sizeof(void *));
    self->state = latency;
}

static uint64_t latency_chunk(struct bench_worker *self)
{
    struct latency *latency = (struct latency *)self->state;
    void *handle = self->handle, **slots = latency->slots;
    uint64_t start, stamp = self->stamp;
    size_t n = 1 + random_below(&self->random, self->cell->parameter), i;

    for (i = 0; i < n; i++) {
        start = bench_ticks_start();
        slots[i] = rival_alloc(BENCH_HANDLE(handle));
        bench_histogram_add(&latency->alloc, bench_ticks_stop() - start);
        slots[i] = bench_take(slots[i], stamp++);
    }
    for (i = n; i-- > 0;) {
        self->sum += bench_read(slots[i]);
        start = bench_ticks_start();
        rival_free(BENCH_HANDLE(handle), slots[i]);
        bench_histogram_add(&latency->release, bench_ticks_stop() - start);
    }
    self->stamp = stamp;
    return n;
}

static void latency_begin(struct bench_worker *self)
{
    struct latency *latency = (struct latency *)self->state;

    bench_histogram_clear(&latency->alloc);
    bench_histogram_clear(&latency->release);
}

static void latency_report(const struct bench_worker *all)
{
    struct latency *total = (struct latency *)bench_memory(1, sizeof *total);
    unsigned i;

    for (i = 0; i < all[0].cell->threads; i++) {
        const struct latency *latency = (const struct latency *)all[i].state;

        bench_histogram_merge(&total->alloc, &latency->alloc);
        bench_histogram_merge(&total->release, &latency->release);
    }
    bench_histogram_report("alloc", &total->alloc);
    bench_histogram_report("free", &total->release);
}

static const struct bench_workload latency_workload = {
    "latency", "bursts of 1 to n, every operation timed on its own", "pair",
    0, 1, latency_live, latency_chunk,
    NULL, latency_setup, latency_begin, NULL, latency_report
};
