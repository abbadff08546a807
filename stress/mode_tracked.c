/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_tracked.c - handles are resolved, and live slots are visited and counted, concurrently with
 * allocs and frees.
 *
 * Includes board.h.  Each thread remembers handles together with their slots.  The slots change
 * owners meanwhile, and other threads free them.  A handle resolves to its slot or to NULL, and
 * once to NULL, always to NULL.  The main thread holds some slots throughout: each iteration visits
 * each of them once, and each count includes all of them.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "board.h"

#include <cpool/track.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Handles that a worker remembers. */
#define TRACKED_KNOWN 48

/* Slots that the main thread holds, at most. */
#define TRACKED_PINS 64

/* The main thread's owner number.  The thread that clears the board has the next one. */
#define TRACKED_HOLDER (STAMP_OWNERS - 3)

struct tracked {
    struct arena arena;
    struct board board;
    struct stamp_owner holder;
    void *pins[TRACKED_PINS];
    size_t pin_count;
    unsigned char *visits; /* of one iteration, by index; the main thread's */
};

struct tracked_known {
    cpool_handle_t handle; /* 0: none */
    void *slot;
    bool stale; /* it has resolved to NULL before */
};

/* ---- Handles ------------------------------------------------------------------- */

/* The worker holds this slot, so its handle must resolve to it. */
static void tracked_remember(struct worker *worker, struct tracked *tracked, struct bag *bag,
                             struct tracked_known *known)
{
    void *slot = bag->slots[random_below(&worker->random, bag->count)];

    known->handle = cpool_handle(tracked->arena.pool, slot);
    known->slot = slot;
    known->stale = false;
    STRESS_REQUIRE(known->handle != CPOOL_HANDLE_NONE);
    STRESS_REQUIRE(cpool_resolve(tracked->arena.pool, known->handle) == slot);
}

/* The handle of a slot that this worker has just freed must resolve to NULL. */
static void tracked_free(struct worker *worker, struct tracked *tracked, struct bag *bag)
{
    cpool_t *pool = tracked->arena.pool;
    void *slot = bag_remove(bag, &worker->random);
    cpool_handle_t handle = cpool_handle(pool, slot);

    STRESS_REQUIRE(cpool_resolve(pool, handle) == slot);
    cpool_free(pool, worker_gives(worker, &tracked->arena, slot));
    STRESS_REQUIRE(cpool_resolve(pool, handle) == NULL);
}

/* Any thread may be freeing the slot now, or may have freed it. */
static void tracked_resolve(struct tracked *tracked, struct tracked_known *known)
{
    void *slot;

    if (known->handle == CPOOL_HANDLE_NONE)
        return;
    slot = cpool_resolve(tracked->arena.pool, known->handle);
    STRESS_REQUIRE(slot == NULL || slot == known->slot);
    STRESS_REQUIRE(slot == NULL || !known->stale);
    known->stale = slot == NULL;
}

static void tracked_swap(struct worker *worker, struct tracked *tracked, struct bag *bag)
{
    void *slot = bag->count > 0 ? bag_remove(bag, &worker->random) : NULL;

    slot = board_swap(&tracked->board, &worker->random, slot);
    if (slot == NULL)
        return;
    worker_adopts(worker, &tracked->arena, slot);
    if (bag->count < bag->room)
        bag_add(bag, slot);
    else
        cpool_free(tracked->arena.pool, worker_gives(worker, &tracked->arena, slot));
}

static void tracked_body(struct worker *worker)
{
    struct tracked *tracked = worker->context;
    struct tracked_known known[TRACKED_KNOWN];
    struct bag bag;

    memset(known, 0, sizeof known);
    bag_init(&bag, &tracked->arena, &worker->random, worker->episode->threads);
    while (!episode_over(worker->episode)) {
        size_t i = random_below(&worker->random, TRACKED_KNOWN);

        worker_step(worker, &bag);
        tracked_resolve(tracked, &known[i]);
        if (bag.count > 0 && random_once_in(&worker->random, 4))
            tracked_remember(worker, tracked, &bag, &known[i]);
        if (bag.count > 0 && random_once_in(&worker->random, 8))
            tracked_free(worker, tracked, &bag);
        if (random_once_in(&worker->random, 4))
            tracked_swap(worker, tracked, &bag);
    }
    worker_leave(worker, &bag);
    bag_fini(&bag);
}

/* ---- Iteration -------------------------------------------------------------------- */

static void tracked_see(struct tracked *tracked, const void *slot)
{
    size_t index = cpool_index(tracked->arena.pool, slot);

    STRESS_REQUIRE(index < tracked->arena.indices);
    if (tracked->visits[index]++ != 0)
        stress_fail("slot %zu was visited twice", index);
}

/* Each of the main thread's slots in the range has been visited once. */
static void tracked_compare(const struct tracked *tracked, size_t first, size_t end)
{
    for (size_t i = 0; i < tracked->pin_count; i++) {
        size_t index = cpool_index(tracked->arena.pool, tracked->pins[i]);
        unsigned wanted = index >= first && index < end;

        if (tracked->visits[index] != wanted)
            stress_fail("slot %zu, live throughout, was visited %u times", index,
                        tracked->visits[index]);
    }
}

static void tracked_walk(struct tracked *tracked, size_t first, size_t end)
{
    cpool_iter_t iter = CPOOL_ITER_INIT(tracked->arena.pool, first, end);
    const void *slot;

    while ((slot = cpool_iter_next(&iter)) != NULL) {
        STRESS_REQUIRE(iter.handle != CPOOL_HANDLE_NONE);
        tracked_see(tracked, slot);
    }
}

static size_t tracked_live(const struct tracked *tracked)
{
    cpool_iter_t iter = CPOOL_ITER_INIT(tracked->arena.pool, 0, SIZE_MAX);
    size_t count = 0;

    while (cpool_iter_next(&iter) != NULL)
        count++;
    return count;
}

static void tracked_meanwhile(struct episode *episode, void *context)
{
    struct tracked *tracked = context;
    size_t first = random_below(&episode->random, tracked->arena.indices);
    size_t end = random_between(&episode->random, first, tracked->arena.indices);

    memset(tracked->visits, 0, tracked->arena.indices);
    tracked_walk(tracked, first, end);
    tracked_compare(tracked, first, end);
    sched_yield();
}

/* ---- The episode --------------------------------------------------------------- */

static void tracked_pin(struct tracked *tracked, uint64_t *random)
{
    size_t wanted = random_below(random, TRACKED_PINS);
    void *slot;

    tracked->holder.number = TRACKED_HOLDER;
    while (tracked->pin_count < wanted && tracked->pin_count < tracked->arena.capacity / 2 &&
           (slot = cpool_alloc(tracked->arena.pool)) != NULL) {
        stamp_take(&tracked->arena.book, &tracked->holder, slot);
        tracked->pins[tracked->pin_count++] = slot;
    }
}

static void tracked_unpin(struct tracked *tracked)
{
    while (tracked->pin_count > 0) {
        void *slot = tracked->pins[--tracked->pin_count];

        stamp_give(&tracked->arena.book, &tracked->holder, slot);
        cpool_free(tracked->arena.pool, slot);
    }
}

static void tracked_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, random_once_in(random, 3) ? ARENA_ROOMY
                                                                         : ARENA_TIGHT);
    struct tracked *tracked = calloc(1, sizeof *tracked);

    STRESS_REQUIRE(tracked != NULL);
    config.flags = CPOOL_TRACKED | (random_once_in(random, 5) ? CPOOL_KEEP_PAGES : 0);
    arena_create(&tracked->arena, &config, episode->threads, random);
    tracked->visits = calloc(tracked->arena.indices, 1);
    STRESS_REQUIRE(tracked->visits != NULL);
    tracked_pin(tracked, random);
    crew_run(episode, tracked_body, tracked, tracked_meanwhile);
    board_clear(&tracked->board, &tracked->arena);
    STRESS_REQUIRE(tracked_live(tracked) == stamp_count_live(&tracked->arena.book));
    tracked_unpin(tracked);
    free(tracked->visits);
    arena_audit(&tracked->arena, random, episode->tally);
    arena_destroy(&tracked->arena);
    free(tracked);
}

const struct mode mode_tracked = {
    .name = "tracked",
    .purpose = "handles resolved, live slots visited and counted, beside allocs and frees",
    .run = tracked_run,
};
