/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_reclaim.h - a dry pool with priorities: every get takes the least important object from
 * its holder.
 *
 * Included by workloads.h for rivals that define RIVAL_RECLAIMS and
 *
 *     void *rival_reclaim_create(const struct bench_cell *cell, size_t n)   n objects
 *     void rival_reclaim_destroy(void *pool)
 *     void *rival_reclaim_get(void *pool, int64_t priority)   NULL: none to be had
 *
 * The parameter is n, all of which are active.  Priorities rise slowly, and spread over twice n, so
 * that a new object may end up anywhere in the heap: this models voices that become less important
 * with time, or an event queue in steady state.
 */

struct reclaim {
    uint64_t gets; /* of this thread */
    char padding[BENCH_LINE];
};

static size_t reclaim_live(const struct bench_cell *cell)
{
    (void)cell;
    return 1;
}

static int64_t reclaim_priority(uint64_t *random, uint64_t gets, size_t n)
{
    return (int64_t)(gets + random_below(random, 2 * n));
}

static void reclaim_prepare(struct bench_shared *shared)
{
    uint64_t random = shared->cell->seed;
    size_t n = shared->cell->parameter, i;

    shared->state = rival_reclaim_create(shared->cell, n);
    for (i = 0; i < n; i++)
        if (rival_reclaim_get(shared->state, reclaim_priority(&random, 0, n)) == NULL)
            bench_fail("only %zu of %zu objects", i, n);
}

static void reclaim_setup(struct bench_worker *self)
{
    self->state = bench_memory(1, sizeof(struct reclaim));
}

static uint64_t reclaim_chunk(struct bench_worker *self)
{
    struct reclaim *reclaim = (struct reclaim *)self->state;
    size_t n = self->cell->parameter;
    unsigned i;

    for (i = 0; i < BENCH_CHUNK / 16; i++) {
        void *object = rival_reclaim_get(
            self->shared->state,
            reclaim_priority(&self->random, self->cell->threads * reclaim->gets++, n));

        if (BENCH_UNLIKELY(object == NULL))
            bench_fail("no object was reclaimed");
        BENCH_HIDE(object);
    }
    return BENCH_CHUNK / 16;
}

static void reclaim_report(const struct bench_worker *all)
{
    rival_reclaim_destroy(all[0].shared->state);
}

static const struct bench_workload reclaim_workload = {
    "reclaim", "n active objects in a dry priority pool: get, which ends another's use", "object",
    0, 1, reclaim_live, reclaim_chunk,
    reclaim_prepare, reclaim_setup, NULL, NULL, reclaim_report
};
