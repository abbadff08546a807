/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_larson.h - threads end, and their successors free their slots.
 *
 * Included by workloads.h, once per rival.  After P. Larson and M. Krishnan,
 * "Memory allocation for long-running server applications", ISMM 1998: a thread
 * replaces random slots of a set of n, starts a successor, hands it the set and
 * ends.  The cost of starting a thread is part of each chunk, the same for all.
 */

#define LARSON_LIFE 16384u /* replacements in one thread's life */

static size_t larson_live(const struct bench_cell *cell)
{
    return replace_live(cell);
}

static void *larson_life(void *argument)
{
    struct bench_worker *self = (struct bench_worker *)argument;
    unsigned i;

    self->handle = bench_enter(self->shared);
    for (i = 0; i < LARSON_LIFE; i += BENCH_CHUNK)
        (void)replace_chunk(self);
    bench_leave(self->shared, self->handle);
    return NULL;
}

/* The successor uses this worker's data while the worker waits for it. */
static uint64_t larson_chunk(struct bench_worker *self)
{
    void *own = self->handle;
    pthread_t successor;

    if (pthread_create(&successor, NULL, larson_life, self) != 0)
        bench_fail("no more threads");
    pthread_join(successor, NULL);
    self->handle = own;
    return LARSON_LIFE;
}

static const struct bench_workload larson_workload = {
    "larson", "replace random slots of n; threads die, successors free their slots", "pair",
    0, 1, larson_live, larson_chunk,
    NULL, replace_setup, NULL, replace_teardown, NULL
};
