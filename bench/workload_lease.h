/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_lease.h - giving n slots back: by the end of a lease, and one by one.
 *
 * Included by workloads.h and by others for pools of libcpool only.  The parameter is n.
 * A chunk takes n slots under a lease and ends it, then takes n slots and frees each, in
 * the order in which it took them.  The allocs are timed, too, because a cost that had
 * moved there would be none saved.
 */

#include <cpool/lease.h>

/* Slots that the pool has beyond those taken: it does not run dry. */
#define LEASE_ROOM ((size_t)65536)

struct lease {
    cpool_t *pool;
    void **slots;
    uint64_t leased, ended, taken, freed; /* nanoseconds since begin */
    uint64_t chunks;
};

static size_t lease_live(const struct bench_cell *cell)
{
    (void)cell;
    return 1;
}

static void lease_setup(struct bench_worker *self)
{
    struct lease *lease = (struct lease *)bench_memory(1, sizeof *lease);
    struct bench_cell cell = *self->cell;

    cell.capacity = cell.parameter + LEASE_ROOM;
    lease->pool = (cpool_t *)rival_create(&cell);
    lease->slots = (void **)bench_memory(cell.parameter, sizeof(void *));
    self->state = lease;
}

static void lease_begin(struct bench_worker *self)
{
    struct lease *lease = (struct lease *)self->state;

    lease->leased = lease->ended = lease->taken = lease->freed = lease->chunks = 0;
    self->timed = 0;
}

static void lease_by_lease(struct bench_worker *self, struct lease *lease)
{
    size_t n = self->cell->parameter, i;
    cpool_lease_t *frame = cpool_lease_begin(lease->pool);
    uint64_t start, end;

    if (frame == NULL)
        bench_fail("no lease");
    start = bench_now();
    for (i = 0; i < n; i++)
        (void)bench_take(cpool_lease_alloc(frame), i);
    end = bench_now();
    lease->leased += end - start;
    if (cpool_lease_end(frame) != n)
        bench_fail("the lease gave back another number of slots");
    start = bench_now();
    lease->ended += start - end;
    self->timed += start - end;
}

static void lease_one_by_one(struct bench_worker *self, struct lease *lease)
{
    size_t n = self->cell->parameter, i;
    uint64_t start = bench_now(), end;

    for (i = 0; i < n; i++)
        lease->slots[i] = bench_take(cpool_alloc(lease->pool), i);
    end = bench_now();
    lease->taken += end - start;
    for (i = 0; i < n; i++)
        cpool_free(lease->pool, lease->slots[i]);
    lease->freed += bench_now() - end;
}

static uint64_t lease_chunk(struct bench_worker *self)
{
    struct lease *lease = (struct lease *)self->state;

    lease_by_lease(self, lease);
    lease_one_by_one(self, lease);
    lease->chunks++;
    return self->cell->parameter;
}

static void lease_report(const struct bench_worker *all)
{
    const struct lease *lease = (const struct lease *)all[0].state;
    double chunks = (double)lease->chunks, slots = chunks * (double)all[0].cell->parameter;

    bench_metric("end_us", (double)lease->ended / chunks / 1e3);
    bench_metric("end_ns", (double)lease->ended / slots);
    bench_metric("free_us", (double)lease->freed / chunks / 1e3);
    bench_metric("free_ns", (double)lease->freed / slots);
    bench_metric("lease_alloc_ns", (double)lease->leased / slots);
    bench_metric("alloc_ns", (double)lease->taken / slots);
    cpool_destroy(lease->pool);
}

static const struct bench_workload lease_workload = {
    "lease-end", "give n slots back by the end of a lease, and one by one", "slot",
    BENCH_SELF_TIMED, 1, lease_live, lease_chunk,
    NULL, lease_setup, lease_begin, NULL, lease_report
};
