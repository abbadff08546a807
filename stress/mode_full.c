/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_full.c - the live slots reach the capacity exactly: pools of threads x k slots, for k from 1
 * to 200, all of which the threads together want.
 *
 * Includes worker.h.  A crew uses many pools, one after the other:
 *
 *   warm     each thread fills its cache: takes its share, gives it all back
 *   hunt     each takes slots until it has its quota, and the quotas add up to
 *            the capacity.  In half of the pools one thread sleeps meanwhile,
 *            on a full cache, and its share is the next one's.
 *   full     all hold their quotas, and the pool has not one slot more
 *
 * No alloc may fail while all other threads are outside the library, asleep or not: as long as
 * somebody hunts there is a slot left for him.  So a slot that is lost, or out of reach in the
 * cache of a sleeping thread, is a failure, and not an endless search.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define FULL_SHARE_MAX 200

/* k goes through 1 to FULL_SHARE_MAX in steps that have no factor in common with it. */
#define FULL_STRIDE 77

struct full {
    struct arena arena;
    uint64_t *random; /* used by the leader, between barriers */
    size_t share;          /* k */
    unsigned int sleeper;  /* a worker's index; the number of workers: no one sleeps */
    bool over;
    pthread_barrier_t barrier; /* threads really sleep at it */

    /* Calls of the library begun and ended while somebody hunts.  Sequentially consistent: a call
     * was alone if as many had ended as had begun before it, and none began before it ended.  All
     * threads must see both counters change in one order. */
    _Atomic uint64_t begun, ended;
};

static void full_meet(struct full *full)
{
    pthread_barrier_wait(&full->barrier);
}

/* ---- Pools --------------------------------------------------------------------- */

static void full_open(struct episode *episode, struct full *full)
{
    uint64_t *random = full->random;
    cpool_config_t config = arena_draw(random, ARENA_TIGHT);

    config.capacity = episode->threads * full->share;
    arena_create(&full->arena, &config, episode->threads, random);
    full->sleeper = (unsigned int)random_below(random, 2 * (size_t)episode->threads);
    if (full->sleeper > episode->threads)
        full->sleeper = episode->threads;
}

static void full_next(struct episode *episode, struct full *full)
{
    arena_destroy(&full->arena);
    full->over = episode_over(episode);
    if (full->over)
        return;
    full->share = 1 + (full->share - 1 + FULL_STRIDE) % FULL_SHARE_MAX;
    full_open(episode, full);
}

/* The worker's part of the capacity. */
static size_t full_quota(const struct worker *worker, const struct full *full)
{
    unsigned int threads = worker->episode->threads;

    if (full->sleeper == worker->index)
        return 0;
    if (full->sleeper < threads && (full->sleeper + 1) % threads == worker->index)
        return 2 * full->share;
    return full->share;
}

/* ---- One pool ------------------------------------------------------------------ */

static void full_free(struct worker *worker, struct full *full, void **slots, size_t count)
{
    while (count > 0)
        cpool_free(full->arena.pool, worker_gives(worker, &full->arena, slots[--count]));
}

static void full_warm(struct worker *worker, struct full *full, void **slots)
{
    size_t count = 0;
    void *slot;

    while (count < full->share &&
           (slot = worker_took(worker, &full->arena, cpool_alloc(full->arena.pool))) != NULL)
        slots[count++] = slot;
    full_free(worker, full, slots, count);
}

static void *full_try(struct worker *worker, struct full *full)
{
    bool depot = random_once_in(&worker->random, 8);
    uint64_t ended = atomic_load_explicit(&full->ended, memory_order_seq_cst);
    uint64_t begun = atomic_fetch_add_explicit(&full->begun, 1, memory_order_seq_cst);
    void *slot = depot ? cpool_alloc_uncached(full->arena.pool) : cpool_alloc(full->arena.pool);
    bool alone = begun == ended &&
                 atomic_load_explicit(&full->begun, memory_order_seq_cst) == begun + 1;

    atomic_fetch_add_explicit(&full->ended, 1, memory_order_seq_cst);
    if (slot == NULL && alone)
        stress_fail("an alloc found nothing while nobody else was inside the library, in a pool "
                    "of %u x %zu slots of which some are free%s",
                    worker->episode->threads, full->share,
                    full->sleeper < worker->episode->threads ? "; one thread sleeps" : "");
    return worker_took(worker, &full->arena, slot);
}

static size_t full_hunt(struct worker *worker, struct full *full, void **slots)
{
    size_t quota = full_quota(worker, full);
    size_t count = 0;

    while (count < quota) {
        slots[count] = full_try(worker, full);
        if (slots[count] != NULL)
            count++;
        else
            sched_yield();
    }
    return count;
}

/* Everybody else sleeps. */
static void full_verify(const struct full *full)
{
    const struct arena *arena = &full->arena;
    size_t live = stamp_count_live(&arena->book);

    if (live != arena->capacity)
        stress_fail("%zu slots of %zu are live, with all quotas filled", live, arena->capacity);
    if (cpool_alloc(arena->pool) != NULL || cpool_alloc_uncached(arena->pool) != NULL)
        stress_fail("a pool has more than its capacity of %zu", arena->capacity);
}

static void full_body(struct worker *worker)
{
    struct full *full = worker->context;
    void **slots = calloc(2 * FULL_SHARE_MAX, sizeof *slots);
    size_t count;

    if (slots == NULL)
        stress_fail("no memory for slots");
    do {
        full_meet(full);
        full_warm(worker, full, slots);
        full_meet(full);
        count = full_hunt(worker, full, slots); /* the sleeper's quota is 0 */
        full_meet(full);
        if (worker->index == 0)
            full_verify(full);
        full_meet(full);
        full_free(worker, full, slots, count);
        full_meet(full);
        if (worker->index == 0)
            full_next(worker->episode, full);
        full_meet(full);
    } while (!full->over);
    free(slots);
}

static void full_run(struct episode *episode)
{
    struct full full = {.random = &episode->random};

    full.share = random_between(&episode->random, 1, FULL_SHARE_MAX);
    if (pthread_barrier_init(&full.barrier, NULL, episode->threads) != 0)
        stress_fail("no barrier");
    full_open(episode, &full);
    crew_run(episode, full_body, &full, NULL);
    pthread_barrier_destroy(&full.barrier);
}

const struct mode mode_full = {
    .name = "full",
    .purpose = "live slots reach a capacity of threads x k exactly, k from 1 to 200",
    .run = full_run,
};
