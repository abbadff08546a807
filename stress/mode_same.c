/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_same.c - each thread allocates and frees its own slots, all of them from
 * one pool.
 *
 * Includes worker.h.  Together the threads want about as many slots as there are, so the pool often
 * runs dry, and slots move from thread to thread through the depot.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

static void same_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    enum arena_room room = arena_draw_room(random);
    cpool_config_t config = arena_draw(random, room);
    struct arena arena;

    arena_create(&arena, &config, episode->threads, random);
    arena.ample = room == ARENA_BUSY;
    crew_run(episode, worker_steps, &arena, NULL);
    arena_audit(&arena, random, episode->tally);
    arena_destroy(&arena);
}

const struct mode mode_same = {
    .name = "same",
    .purpose = "each thread frees what it allocated",
    .run = same_run,
};
