/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_grow.h - the cost of growing, and the gain of reserving.
 *
 * Included by workloads.h for pools of libcpool only.  The parameter is n, at least 2 * GROW_PART
 * slots.  Each chunk creates four pools and destroys them again:
 *
 *     1. n / GROW_PART slots, up to n   allocates n: it grows by itself; timed as a whole,
 *                                       and again with every alloc timed
 *     2. n slots                        allocates n: it need not grow
 *     3. n / 2 slots, up to n           cpool_grow(n / 2)
 *     4. n slots                        allocates and touches n / GROW_PART slots, and again
 *                                       as many after cpool_reserve
 */

#include <sys/resource.h>

#define GROW_PART ((size_t)16)

/* Page faults that may happen for other reasons while reserved slots are touched. */
#define GROW_FAULTS 4

struct grow {
    uint64_t chunks;
    double growing, fixed;           /* nanoseconds a slot, sums over chunks */
    double fresh, reserved;          /* the same, with the first touch */
    double grow_call, reserve_call;  /* microseconds, sums */
    double growths;
    struct bench_histogram allocs;   /* ticks, of a pool that grows */
};

static size_t grow_live(const struct bench_cell *cell)
{
    (void)cell;
    return 1;
}

static cpool_t *grow_pool(const struct bench_worker *self, size_t capacity, size_t max_capacity)
{
    struct bench_cell cell = *self->cell;

    cell.capacity = capacity;
    return (cpool_t *)rival_create_with(&cell, 0, max_capacity);
}

/* Takes n slots and returns the nanoseconds of each. */
static double grow_take(cpool_t *pool, size_t n)
{
    uint64_t start = bench_now();
    size_t i;

    for (i = 0; i < n; i++) {
        void *slot = rival_alloc(pool);

        if (BENCH_UNLIKELY(slot == NULL))
            bench_fail("dry after %zu slots of %zu", i, n);
        BENCH_HIDE(slot);
    }
    return (double)(bench_now() - start) / (double)n;
}

static double grow_take_and_touch(cpool_t *pool, size_t n)
{
    uint64_t start = bench_now();
    size_t i;

    for (i = 0; i < n; i++)
        (void)bench_take(rival_alloc(pool), i);
    return (double)(bench_now() - start) / (double)n;
}

static void grow_by_itself(struct bench_worker *self, struct grow *grow)
{
    size_t n = self->cell->parameter, i;
    struct figures stats;
    cpool_t *pool = grow_pool(self, n / GROW_PART, n);
    double nanoseconds = grow_take(pool, n);

    if (!figures_read(pool, &stats) || stats.growths == 0 || stats.capacity != n)
        bench_fail("it has grown %u times, to %zu of %zu slots", (unsigned)stats.growths,
                   stats.capacity, n);
    cpool_destroy(pool);
    grow->growing += nanoseconds;
    grow->growths += (double)stats.growths;
    self->timed += (uint64_t)(nanoseconds * (double)n);

    pool = grow_pool(self, n / GROW_PART, n);
    for (i = 0; i < n; i++) {
        uint64_t start = bench_ticks_start();
        void *slot = rival_alloc(pool);

        bench_histogram_add(&grow->allocs, bench_ticks_stop() - start);
        BENCH_HIDE(slot);
    }
    cpool_destroy(pool);
}

static void grow_not(struct bench_worker *self, struct grow *grow)
{
    cpool_t *pool = grow_pool(self, self->cell->parameter, 0);

    grow->fixed += grow_take(pool, self->cell->parameter);
    cpool_destroy(pool);
}

static void grow_by_call(struct bench_worker *self, struct grow *grow)
{
    size_t n = self->cell->parameter, half = n / 2;
    cpool_t *pool = grow_pool(self, n - half, n);
    uint64_t start = bench_now();
    size_t added = cpool_grow(pool, half);

    grow->grow_call += (double)(bench_now() - start) / 1e3;
    if (added != half)
        bench_fail("it has grown by %zu slots instead of %zu", added, half);
    cpool_destroy(pool);
}

static long grow_faults(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage); /* the others of this process wait or are not there */
    return usage.ru_minflt + usage.ru_majflt;
}

static void grow_reserve(struct bench_worker *self, struct grow *grow)
{
    size_t n = self->cell->parameter, part = n / GROW_PART;
    cpool_t *pool = grow_pool(self, n, 0);
    uint64_t start;
    long faults;

    grow->fresh += grow_take_and_touch(pool, part);
    start = bench_now();
    if (cpool_reserve(pool, part) != 0)
        bench_fail("%zu slots could not be reserved", part);
    grow->reserve_call += (double)(bench_now() - start) / 1e3;
    faults = grow_faults();
    grow->reserved += grow_take_and_touch(pool, part);
    faults = grow_faults() - faults;
    if (faults > GROW_FAULTS)
        bench_fail("%ld page faults while reserved slots were touched", faults);
    cpool_destroy(pool);
}

static void grow_setup(struct bench_worker *self)
{
    self->state = bench_memory(1, sizeof(struct grow));
}

static void grow_begin(struct bench_worker *self)
{
    memset(self->state, 0, sizeof(struct grow));
    self->timed = 0;
}

static uint64_t grow_chunk(struct bench_worker *self)
{
    struct grow *grow = (struct grow *)self->state;

    grow_by_itself(self, grow);
    grow_not(self, grow);
    grow_by_call(self, grow);
    grow_reserve(self, grow);
    grow->chunks++;
    return self->cell->parameter;
}

static void grow_report(const struct bench_worker *all)
{
    const struct grow *grow = (const struct grow *)all[0].state;
    double chunks = (double)grow->chunks;

    bench_metric("growths", grow->growths / chunks);
    bench_metric("growing_ns", grow->growing / chunks);
    bench_metric("fixed_ns", grow->fixed / chunks);
    bench_metric("fresh_touch_ns", grow->fresh / chunks);
    bench_metric("reserved_touch_ns", grow->reserved / chunks);
    bench_metric("grow_us", grow->grow_call / chunks);
    bench_metric("reserve_us", grow->reserve_call / chunks);
    bench_histogram_microseconds("growing_us", &grow->allocs);
}

static const struct bench_workload grow_workload = {
    "grow", "take n slots of a pool that grows; cpool_grow; cpool_reserve", "alloc",
    BENCH_SELF_TIMED, 1, grow_live, grow_chunk,
    NULL, grow_setup, grow_begin, NULL, grow_report
};
