/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_depot.c - the uncached pair, used by threads that also use the cached one.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

static void depot_step(struct worker *worker, struct bag *bag)
{
    struct arena *arena = bag->arena;
    void *slot;

    if (bag->count == 0 || (bag->count < bag->room && random_once_in(&worker->random, 2))) {
        slot = worker_took(worker, arena, cpool_alloc_uncached(arena->pool));
        if (slot != NULL)
            bag_add(bag, slot);
    } else {
        cpool_free_uncached(arena->pool,
                         worker_gives(worker, arena, bag_remove(bag, &worker->random)));
    }
}

static void depot_body(struct worker *worker)
{
    struct bag bag;

    bag_init(&bag, worker->context, &worker->random, worker->episode->threads);
    while (!episode_over(worker->episode)) {
        if (random_once_in(&worker->random, 2))
            depot_step(worker, &bag);
        else
            worker_step(worker, &bag);
    }
    worker_leave(worker, &bag);
    bag_fini(&bag);
}

static void depot_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, random_once_in(random, 3) ? ARENA_ROOMY
                                                                         : ARENA_TIGHT);
    struct arena arena;

    arena_create(&arena, &config, episode->threads, random);
    crew_run(episode, depot_body, &arena, NULL);
    arena_audit(&arena, random, episode->tally);
    arena_destroy(&arena);
}

const struct mode mode_depot = {
    .name = "depot",
    .purpose = "the uncached pair, mixed with the cached one",
    .run = depot_run,
};
