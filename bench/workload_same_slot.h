/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_same_slot.h - take a slot, write to it, read it, give it back.
 *
 * Included by workloads.h, once per rival.  The shortest thing a program can
 * do with a pool, and the one that is bound by the number of instructions.
 */

static size_t same_slot_live(const struct bench_cell *cell)
{
    return cell->threads;
}

static uint64_t same_slot_chunk(struct bench_worker *self)
{
    void *handle = self->handle;
    uint64_t stamp = self->stamp, sum = self->sum;
    unsigned i;

    for (i = 0; i < BENCH_CHUNK; i++) {
        void *slot = bench_take(rival_alloc(BENCH_HANDLE(handle)), stamp++);

        sum += bench_read(slot);
        rival_free(BENCH_HANDLE(handle), slot);
    }
    self->stamp = stamp;
    self->sum = sum;
    return BENCH_CHUNK;
}

static const struct bench_workload same_slot_workload = {
    "same-slot", "take a slot, write, read, give it back", "pair",
    0, 1, same_slot_live, same_slot_chunk,
    NULL, NULL, NULL, NULL, NULL
};
