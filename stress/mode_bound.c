/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_bound.c - the capacity is the bound: a plain pool, whose slots are counted.
 *
 * Includes worker.h.  The configuration has only a slot size and a capacity.  Two counts are kept:
 *
 *   live   slots that have certainly been handed out: counted from after the alloc until before
 *          the free
 *   held   slots that may have been handed out: counted from before the alloc until after the
 *          free, or until the alloc has returned NULL
 *
 * `live` must never exceed the capacity.  An alloc may return NULL only if at some instant of the
 * call all slots were live or held by other calls, that is, if `held`, including this alloc, was
 * above the capacity.  So the word of `held` also counts how often that happened.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <stdlib.h>

#define BOUND_CAPACITY_MAX 300

/* Nanoseconds of the longest wait. */
#define BOUND_WAIT_MAX 200000

struct bound {
    struct arena arena;
    _Atomic size_t live;
    _Atomic uint64_t held; /* the count, and above it how often it exceeded the capacity */
};

#define BOUND_COUNT(held) ((size_t)((held)&UINT32_MAX))
#define BOUND_TIMES(held) ((held) >> 32)

static uint64_t bound_begin(struct bound *bound)
{
    uint64_t held = bound->held;
    uint64_t next;

    do {
        next = held + 1;
        if (BOUND_COUNT(next) > bound->arena.capacity)
            next += UINT64_C(1) << 32;
    } while (!atomic_compare_exchange_weak(&bound->held, &held, next));
    return next;
}

/* A thread that stays inside for too long is not waited for, and that is counted as a stall. */
static void bound_judge(struct bound *bound, uint64_t began)
{
    uint64_t held = bound->held;

    if (BOUND_COUNT(began) <= bound->arena.capacity && BOUND_TIMES(held) == BOUND_TIMES(began) &&
        arena_stats(&bound->arena).stalls == 0)
        stress_fail("an alloc found nothing, with %zu of %zu slots live or in hands at most",
                    BOUND_COUNT(held) - 1, bound->arena.capacity);
}

static void *bound_take(struct worker *worker, struct bound *bound)
{
    const struct timespec timeout = {0, (long)random_below(&worker->random, BOUND_WAIT_MAX)};
    uint64_t began = bound_begin(bound);
    size_t way = random_below(&worker->random, 64);
    void *slot = way == 0  ? cpool_alloc_wait(bound->arena.pool, &timeout)
                 : way < 4 ? cpool_alloc_uncached(bound->arena.pool)
                           : cpool_alloc(bound->arena.pool);
    size_t live;

    if (slot == NULL) {
        if (way != 0) /* a waiter does not wait for threads that are inside */
            bound_judge(bound, began);
        bound->held--;
    } else if ((live = ++bound->live) > bound->arena.capacity) {
        stress_fail("%zu slots of %zu are live", live, bound->arena.capacity);
    }
    return worker_took(worker, &bound->arena, slot);
}

static void bound_give(struct worker *worker, struct bound *bound, void *slot)
{
    worker_gives(worker, &bound->arena, slot);
    bound->live--;
    if (random_once_in(&worker->random, 16))
        cpool_free_uncached(bound->arena.pool, slot);
    else
        cpool_free(bound->arena.pool, slot);
    bound->held--;
}

static void bound_body(struct worker *worker)
{
    struct bound *bound = worker->context;
    size_t most = 1 + 2 * bound->arena.capacity / worker->episode->threads;
    void **slots = calloc(most, sizeof *slots);
    size_t count = 0;

    if (slots == NULL)
        stress_fail("no memory for slots");
    while (!episode_over(worker->episode)) {
        size_t target = random_below(&worker->random, most + 1);

        while (count < target && (slots[count] = bound_take(worker, bound)) != NULL)
            count++;
        while (count > target)
            bound_give(worker, bound, slots[--count]);
        if (random_once_in(&worker->random, 256))
            cpool_flush(bound->arena.pool);
    }
    while (count > 0)
        bound_give(worker, bound, slots[--count]);
    free(slots);
}

/* The audit gets all slots of the capacity, each once, and no more. */
static void bound_run(struct episode *episode)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    struct bound bound = {.live = 0};

    config.slot_size = random_between(&episode->random, 1, 64);
    config.capacity = random_between(&episode->random, 1, BOUND_CAPACITY_MAX);
    arena_create(&bound.arena, &config, episode->threads, NULL);
    crew_run(episode, bound_body, &bound, NULL);
    STRESS_REQUIRE(bound.live == 0 && BOUND_COUNT(bound.held) == 0);
    arena_audit(&bound.arena, &episode->random, episode->tally);
    arena_destroy(&bound.arena);
}

const struct mode mode_bound = {
    .name = "bound",
    .purpose = "never more than the capacity live, and no alloc is refused below it",
    .run = bound_run,
};
