/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_replace.h - hold a working set, and replace random members of it.
 *
 * Included by workloads.h, once per rival.  The parameter is the size of each thread's working set.
 * The new slot is allocated before the old one is freed, as in a program that builds an object
 * before it drops the previous one.  So addresses move through the set instead of staying the same.
 */

static size_t replace_live(const struct bench_cell *cell)
{
    return (cell->parameter + 1) * cell->threads;
}

static void replace_setup(struct bench_worker *self)
{
    size_t n = self->cell->parameter, i;
    void **slots = (void **)bench_memory(n, sizeof(void *));

    for (i = 0; i < n; i++)
        slots[i] = bench_take(rival_alloc(BENCH_HANDLE(self->handle)), self->stamp++);
    self->state = slots;
}

static uint64_t replace_chunk(struct bench_worker *self)
{
    void *handle = self->handle, **slots = (void **)self->state;
    uint64_t stamp = self->stamp, sum = self->sum, random = self->random;
    size_t n = self->cell->parameter;
    unsigned i;

    for (i = 0; i < BENCH_CHUNK; i++) {
        size_t at = random_below(&random, n);
        void *old = slots[at];

        slots[at] = bench_take(rival_alloc(BENCH_HANDLE(handle)), stamp++);
        sum += bench_read(old);
        rival_free(BENCH_HANDLE(handle), old);
    }
    self->stamp = stamp;
    self->sum = sum;
    self->random = random;
    return BENCH_CHUNK;
}

static void replace_teardown(struct bench_worker *self)
{
    void **slots = (void **)self->state;
    size_t i;

    for (i = 0; i < self->cell->parameter; i++) {
        self->sum += bench_read(slots[i]);
        rival_free(BENCH_HANDLE(self->handle), slots[i]);
    }
}

static const struct bench_workload replace_workload = {
    "replace", "replace random members of a working set of n slots", "pair",
    0, 1, replace_live, replace_chunk,
    NULL, replace_setup, NULL, replace_teardown, NULL
};
