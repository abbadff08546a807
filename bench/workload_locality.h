/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_locality.h - the cost of a walk through n slots in random places, and the effect of
 * giving memory back.
 *
 * Included by workloads.h for rivals that can give memory back: rival_trim(pool) returns the number
 * of bytes that it claims to have given back.  The parameter is n.
 *
 *     take n                      walk: as they lay when the pool was new
 *     free all at random, take n  walk: scattered
 *     free all at random, trim    its duration, and resident memory before and after
 *     take n                      walk: trimmed
 *
 * A walk reads and writes one word of each slot, in the order of allocation.  The first walk takes
 * the page faults, the second one is timed.  A slot is in order if it follows the previous one
 * directly.
 */

struct locality {
    void **slots;
    uint32_t *order;
    double walks[3];    /* nanoseconds a slot: fresh, scattered, trimmed */
    double in_order[3]; /* percent */
    double before, after, returned; /* bytes */
    double microseconds;            /* that trimming took */
};

static size_t locality_live(const struct bench_cell *cell)
{
    return cell->parameter;
}

static void locality_setup(struct bench_worker *self)
{
    struct locality *locality = (struct locality *)bench_memory(1, sizeof *locality);
    size_t n = self->cell->parameter, i;

    locality->slots = (void **)bench_memory(n, sizeof(void *));
    locality->order = (uint32_t *)bench_memory(n, sizeof(uint32_t));
    for (i = 0; i < n; i++)
        locality->order[i] = (uint32_t)i;
    self->state = locality;
}

static void locality_touch(struct locality *locality, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        ++*(volatile uint64_t *)locality->slots[i];
}

/* The percentage of slots that directly follow the one that was allocated before. */
static double locality_in_order(const struct bench_worker *self, const struct locality *locality)
{
    size_t n = self->cell->parameter, step, good = 0, i;

    /* An allocator may put something between two slots, so use the distance of the first two. */
    step = (size_t)((char *)locality->slots[1] - (char *)locality->slots[0]);
    if (step < self->cell->slot_size || step > 2 * self->cell->slot_size)
        step = self->cell->slot_size;
    for (i = 1; i < n; i++)
        if ((uintptr_t)locality->slots[i] - (uintptr_t)locality->slots[i - 1] == step)
            good++;
    return 100.0 * (double)good / (double)(n - 1);
}

/* Allocates n slots, checks their number, and walks through them. */
static void locality_take(struct bench_worker *self, struct locality *locality, unsigned walk)
{
    size_t n = self->cell->parameter, i;
    uint64_t start;

    for (i = 0; i < n; i++)
        locality->slots[i] = bench_take(rival_alloc(BENCH_HANDLE(self->handle)), self->stamp++);
    for (i = 0; i < n; i++)
        self->sum += bench_read(locality->slots[i]);
    locality_touch(locality, n);
    start = bench_now();
    locality_touch(locality, n);
    locality->walks[walk] = (double)(bench_now() - start) / (double)n;
    locality->in_order[walk] = locality_in_order(self, locality);
}

static void locality_free(struct bench_worker *self, struct locality *locality)
{
    size_t n = self->cell->parameter, i;

    bench_shuffle(locality->order, n, &self->random);
    for (i = 0; i < n; i++)
        rival_free(BENCH_HANDLE(self->handle), locality->slots[locality->order[i]]);
}

static void locality_trim(struct locality *locality)
{
    uint64_t start;

    locality->before = (double)bench_resident();
    start = bench_now();
    locality->returned = (double)rival_trim(bench_pool);
    locality->microseconds = (double)(bench_now() - start) / 1e3;
    locality->after = (double)bench_resident();
}

static uint64_t locality_chunk(struct bench_worker *self)
{
    struct locality *locality = (struct locality *)self->state;
    size_t n = self->cell->parameter;

    locality_take(self, locality, 0);
    locality_free(self, locality);
    locality_take(self, locality, 1);
    locality_free(self, locality);
    locality_trim(locality);
    locality_take(self, locality, 2);
    locality_free(self, locality);
    self->timed = (uint64_t)(locality->walks[2] * (double)n) + 1;
    return n;
}

static void locality_report(const struct bench_worker *all)
{
    static const char *const walks[] = { "walk_fresh", "walk_scattered", "walk_trimmed" };
    static const char *const orders[] = { "fresh_percent", "scattered_percent",
                                          "trimmed_percent" };
    const struct locality *locality = (const struct locality *)all[0].state;
    unsigned i;

#ifndef BENCH_SANITIZER
    /* Memory that a rival claims to have given back must not be resident.  A sanitizer may take
     * memory of its own meanwhile. */
    if (locality->returned > 0.0 && locality->before - locality->after < locality->returned / 2)
        bench_fail("it says %.0f bytes went back, and %.0f did", locality->returned,
                   locality->before - locality->after);
#endif
    for (i = 0; i < 3; i++) {
        bench_metric(walks[i], locality->walks[i]);
        bench_metric(orders[i], locality->in_order[i]);
    }
    bench_metric("trim_us", locality->microseconds);
    bench_metric("returned_bytes", locality->before - locality->after);
    bench_metric("before_bytes", locality->before);
    bench_metric("after_bytes", locality->after);
}

static const struct bench_workload locality_workload = {
    "locality", "walk through n slots: new, after n random frees, after trimming", "slot",
    BENCH_ONCE | BENCH_SELF_TIMED, 1, locality_live, locality_chunk,
    NULL, locality_setup, NULL, NULL, locality_report
};
