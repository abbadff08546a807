/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_burst.h - allocate n slots, then free all n.
 *
 * Included by workloads.h, once per rival.  The parameter is n.  Slots are freed last in first out,
 * first in first out, or in a random order that is fixed for each thread.
 */

struct burst {
    void **slots;
    uint32_t *order; /* a permutation: the order in which they are freed */
};

static size_t burst_live(const struct bench_cell *cell)
{
    return cell->parameter * cell->threads;
}

static void burst_setup(struct bench_worker *self)
{
    size_t n = self->cell->parameter, i;
    struct burst *burst = (struct burst *)bench_memory(1, sizeof *burst);

    burst->slots = (void **)bench_memory(n, sizeof(void *));
    burst->order = (uint32_t *)bench_memory(n, sizeof(uint32_t));
    for (i = 0; i < n; i++)
        burst->order[i] = (uint32_t)(self->cell->order == BENCH_LIFO ? n - 1 - i : i);
    if (self->cell->order == BENCH_RANDOM)
        bench_shuffle(burst->order, n, &self->random);
    self->state = burst;
}

static uint64_t burst_chunk(struct bench_worker *self)
{
    const struct burst *burst = (const struct burst *)self->state;
    void *handle = self->handle, **slots = burst->slots;
    const uint32_t *order = burst->order;
    uint64_t stamp = self->stamp, sum = self->sum;
    size_t n = self->cell->parameter, done, i;

    for (done = 0; done < BENCH_CHUNK; done += n) {
        for (i = 0; i < n; i++)
            slots[i] = bench_take(rival_alloc(BENCH_HANDLE(handle)), stamp++);
        for (i = 0; i < n; i++) {
            void *slot = slots[order[i]];

            sum += bench_read(slot);
            rival_free(BENCH_HANDLE(handle), slot);
        }
    }
    self->stamp = stamp;
    self->sum = sum;
    return done;
}

static const struct bench_workload burst_workload = {
    "burst", "take n slots, then give all n back", "pair",
    0, 1, burst_live, burst_chunk,
    NULL, burst_setup, NULL, NULL, NULL
};
