/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_depot.c - the uncached pair, from threads and from signal handlers that
 * interrupt the same threads inside the cached one.
 *
 * Includes disturb.h.  The handler allocates, verifies and frees slots of its
 * own with cpool_depot_alloc and cpool_depot_free, in the middle of whatever
 * its thread was doing with the same pool, and of the uncached pair as well.
 * (Under ThreadSanitizer signals arrive at calls into the C library only.)
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "disturb.h"

#include <stdlib.h>

/* Slots that one handler holds at most. */
#define DEPOT_HANDLER_ROOM 8

/* Handlers stamp under numbers of their own. */
#define DEPOT_HANDLER_OWNERS (STAMP_OWNERS / 2)

/* The slots of the handler in one worker's thread.  While the worker may be
 * disturbed only the handler touches it, and it does not interrupt itself. */
struct depot_handler {
    uint64_t random;
    struct stamp_owner owner;
    void *slots[DEPOT_HANDLER_ROOM];
    uint64_t operations;
};

struct depot {
    struct arena arena;
    struct depot_handler *handlers; /* one per worker */
};

static void depot_signalled(struct worker *worker)
{
    struct depot *depot = worker->context;
    struct depot_handler *handler = &depot->handlers[worker->index];
    struct arena *arena = &depot->arena;

    for (size_t times = random_between(&handler->random, 1, 4); times > 0; times--) {
        void **place = &handler->slots[random_below(&handler->random, DEPOT_HANDLER_ROOM)];

        if (*place == NULL) {
            *place = cpool_depot_alloc(arena->pool);
            if (*place != NULL)
                stamp_take(&arena->book, &handler->owner, *place);
        } else {
            stamp_give(&arena->book, &handler->owner, *place);
            cpool_depot_free(arena->pool, *place);
            *place = NULL;
        }
        handler->operations++;
    }
}

/* In the caller's memory four operations can be inside, and those of a handler and of the
 * thread below it are two. */
#define DEPOT_CALLERS_THREADS 3u

/* An uncached operation of the thread itself. */
static void depot_step(struct worker *worker, struct bag *bag)
{
    struct arena *arena = bag->arena;
    void *slot;

    if (bag->count == 0 || (bag->count < bag->room && random_once_in(&worker->random, 2))) {
        slot = worker_took(worker, arena, cpool_depot_alloc(arena->pool));
        if (slot != NULL)
            bag_add(bag, slot);
    } else {
        cpool_depot_free(arena->pool,
                         worker_gives(worker, arena, bag_remove(bag, &worker->random)));
    }
}

static void depot_body(struct worker *worker)
{
    struct depot *depot = worker->context;
    struct bag bag;

    bag_init(&bag, &depot->arena, &worker->random, worker->episode->threads);
    while (!episode_over(worker->episode)) {
        if (random_once_in(&worker->random, 2))
            depot_step(worker, &bag);
        else
            worker_step(worker, &bag);
    }
    worker_leave(worker, &bag);
    bag_fini(&bag);
}

/* The crew has gone.  The main thread frees the slots of the handlers. */
static void depot_clear(struct depot *depot, struct episode *episode)
{
    for (unsigned int i = 0; i < episode->threads; i++) {
        struct depot_handler *handler = &depot->handlers[i];

        for (size_t k = 0; k < DEPOT_HANDLER_ROOM; k++) {
            if (handler->slots[k] != NULL) {
                stamp_give(&depot->arena.book, &handler->owner, handler->slots[k]);
                cpool_depot_free(depot->arena.pool, handler->slots[k]);
            }
        }
        episode->tally->operations += handler->operations;
    }
    free(depot->handlers);
}

static void depot_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, random_once_in(random, 3) ? ARENA_ROOMY
                                                                         : ARENA_TIGHT);
    struct depot depot;

    /* Handlers may wait for operations that each other's threads have been interrupted in. */
    config.stall_limit = 1;
    arena_create(&depot.arena, &config, episode->threads,
                 episode->threads <= DEPOT_CALLERS_THREADS ? random : NULL);
    depot.handlers = calloc(episode->threads, sizeof *depot.handlers);
    if (depot.handlers == NULL)
        stress_fail("no memory for %u handlers", episode->threads);
    for (unsigned int i = 0; i < episode->threads; i++) {
        depot.handlers[i].random = random_next(random);
        depot.handlers[i].owner.number = DEPOT_HANDLER_OWNERS + i;
    }
    disturb_start(random_next(random), depot_signalled);
    crew_run(episode, depot_body, &depot, NULL);
    disturb_stop();
    depot_clear(&depot, episode);
    arena_audit(&depot.arena, random, episode->tally);
    arena_destroy(&depot.arena);
}

const struct mode mode_depot = {
    .name = "depot",
    .purpose = "the uncached pair, also from signal handlers inside the cached one",
    .run = depot_run,
    .own_signals = true,
};
