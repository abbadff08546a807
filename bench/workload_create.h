/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_create.h - create a pool of n slots and destroy it again.
 *
 * Included by workloads.h, once per rival, for rivals that have such pools.  The parameter is n.
 * Also reports the memory that is resident after creation.
 */

/* A pool that touches all its slots is left out above this many bytes. */
#define CREATE_EAGER_MAX ((size_t)1 << 30)

static size_t create_live(const struct bench_cell *cell)
{
    (void)cell;
    return 1;
}

static void *create_pool(const struct bench_worker *self)
{
    struct bench_cell cell = *self->cell;
    void *pool;

    cell.capacity = cell.parameter;
    pool = rival_create(&cell);
    if (pool == NULL)
        bench_leave_out("it asks for all of the memory at once");
    return pool;
}

static void create_setup(struct bench_worker *self)
{
    size_t *resident = (size_t *)bench_memory(1, sizeof *resident), before;
    void *pool;

    if ((self->shared->rival->traits & BENCH_EAGER) != 0 &&
        self->cell->parameter > CREATE_EAGER_MAX / self->cell->slot_size)
        bench_leave_out("it would touch all of the memory");
    rival_destroy(create_pool(self)); /* pays the one-time costs of the first pool */
    before = bench_resident();
    pool = create_pool(self);
    *resident = bench_resident() - before;
    rival_destroy(pool);
    self->state = resident;
}

static uint64_t create_chunk(struct bench_worker *self)
{
    rival_destroy(create_pool(self));
    return 1;
}

static void create_report(const struct bench_worker *all)
{
    bench_metric("resident", (double)*(const size_t *)all[0].state);
}

static const struct bench_workload create_workload = {
    "create", "make a pool of n slots and destroy it", "pool",
    BENCH_CREATES, 1, create_live, create_chunk,
    NULL, create_setup, NULL, NULL, create_report
};
