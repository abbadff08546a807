/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_same.c - each thread allocates and frees its own slots, all of them from
 * one pool.
 *
 * Includes worker.h.  Together the threads want about as much as there is, so
 * that the pool runs dry and slots wander from thread to thread through the
 * depot.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

static void same_body(struct worker *worker)
{
    struct bag bag;

    bag_init(&bag, worker->context, &worker->random, worker->episode->threads);
    while (!episode_over(worker->episode))
        worker_step(worker, &bag);
    worker_leave(worker, &bag);
    bag_fini(&bag);
}

static void same_run(struct episode *episode)
{
    struct random *random = &episode->random;
    cpool_config_t config = arena_draw(random, random_once_in(random, 3) ? ARENA_ROOMY
                                                                         : ARENA_TIGHT);
    struct arena arena;

    arena_create(&arena, &config, episode->threads, random);
    crew_run(episode, same_body, &arena, NULL);
    arena_audit(&arena, random, episode->tally);
    arena_destroy(&arena);
}

const struct mode mode_same = {
    .name = "same",
    .purpose = "each thread frees what it allocated",
    .run = same_run,
};
