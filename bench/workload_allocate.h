/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_allocate.h - allocate n slots, one after the other, and free none.
 *
 * Included by workloads.h, once per rival.  Modelled on J.  Dunstan's table ("Unmanaged memory
 * pools", 2017): 10,000,000 times 8 bytes on fresh memory.  The parameter is n.  Nothing is freed:
 * the slots end with the process.  Untouched and touched memory are separate workloads, because the
 * page faults of touching cost more than any allocator:
 *
 *   allocate         take                allocate-touch   take and write
 *   zeroed           take cleared        zeroed-touch     take cleared and read
 */

static size_t allocate_live(const struct bench_cell *cell)
{
    return cell->parameter * cell->threads;
}

static uint64_t allocate_chunk(struct bench_worker *self)
{
    void *handle = self->handle;
    size_t n = self->cell->parameter, i;

    for (i = 0; i < n; i++) {
        void *slot = rival_alloc(BENCH_HANDLE(handle));

        if (BENCH_UNLIKELY(slot == NULL))
            bench_fail("the pool ran dry");
        BENCH_HIDE(slot);
    }
    return n;
}

static uint64_t allocate_touch_chunk(struct bench_worker *self)
{
    void *handle = self->handle;
    uint64_t stamp = self->stamp, sum = self->sum;
    size_t n = self->cell->parameter, i;

    for (i = 0; i < n; i++)
        sum += bench_read(bench_take(rival_alloc(BENCH_HANDLE(handle)), stamp++));
    self->stamp = stamp;
    self->sum = sum;
    return n;
}

static uint64_t zeroed_chunk(struct bench_worker *self)
{
    void *handle = self->handle;
    size_t n = self->cell->parameter, size = self->cell->slot_size, i;

    for (i = 0; i < n; i++) {
        void *slot = rival_calloc(BENCH_HANDLE(handle), size);

        if (BENCH_UNLIKELY(slot == NULL))
            bench_fail("the pool ran dry");
        BENCH_HIDE(slot);
    }
    return n;
}

/* The bytes read are added to the sum, so a slot that is not zero is noticed. */
static uint64_t zeroed_touch_chunk(struct bench_worker *self)
{
    void *handle = self->handle;
    uint64_t sum = self->sum;
    size_t n = self->cell->parameter, size = self->cell->slot_size, i;

    for (i = 0; i < n; i++) {
        void *slot = rival_calloc(BENCH_HANDLE(handle), size);

        if (BENCH_UNLIKELY(slot == NULL))
            bench_fail("the pool ran dry");
        BENCH_HIDE(slot);
        sum += bench_read(slot);
    }
    self->sum = sum;
    return n;
}

static const struct bench_workload allocate_workload = {
    "allocate", "take n fresh slots, free none", "alloc",
    BENCH_ONCE, 1, allocate_live, allocate_chunk,
    NULL, NULL, NULL, NULL, NULL
};

static const struct bench_workload allocate_touch_workload = {
    "allocate-touch", "take n fresh slots and write to each, free none", "alloc",
    BENCH_ONCE, 1, allocate_live, allocate_touch_chunk,
    NULL, NULL, NULL, NULL, NULL
};

static const struct bench_workload zeroed_workload = {
    "zeroed", "take n fresh slots cleared, free none", "alloc",
    BENCH_ONCE, 1, allocate_live, zeroed_chunk,
    NULL, NULL, NULL, NULL, NULL
};

static const struct bench_workload zeroed_touch_workload = {
    "zeroed-touch", "take n fresh slots cleared and read each, free none", "alloc",
    BENCH_ONCE, 1, allocate_live, zeroed_touch_chunk,
    NULL, NULL, NULL, NULL, NULL
};
