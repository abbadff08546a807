/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_wait.c - threads sleep until there is a slot for them.
 *
 * Includes worker.h.  A worker waits only while it holds no slot, so some thread always has a slot
 * to free.  A lost wake-up therefore shows as an episode that never ends.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <sched.h>
#include <time.h>

/* Slots that a worker tries to get in addition to the one that it waited for. */
#define WAIT_MORE 4

/* Waits for one, with a time-out or without.  Returns NULL after a time-out. */
static void *wait_for_one(struct worker *worker, struct arena *arena)
{
    struct timespec timeout = {0, (long)random_below(&worker->random, 2000000)};

    if (random_once_in(&worker->random, 3))
        return cpool_alloc_wait(arena->pool, &timeout);
    return cpool_alloc_wait(arena->pool, NULL);
}

static void wait_body(struct worker *worker)
{
    struct arena *arena = worker->context;

    while (!episode_over(worker->episode)) {
        void *slots[1 + WAIT_MORE];
        size_t more = random_below(&worker->random, WAIT_MORE + 1);
        size_t count = 0;

        slots[0] = worker_took(worker, arena, wait_for_one(worker, arena));
        if (slots[0] == NULL)
            continue;
        for (count = 1; count <= more; count++)
            if ((slots[count] = worker_took(worker, arena, cpool_alloc(arena->pool))) == NULL)
                break;
        if (random_once_in(&worker->random, 16))
            cpool_flush(arena->pool);
        while (count > 0)
            cpool_free(arena->pool, worker_gives(worker, arena, slots[--count]));
    }
}

static void wait_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, ARENA_TIGHT);
    struct arena arena;

    if (random_once_in(random, 3))
        config.flags |= CPOOL_CHECKED;
    config.capacity = random_between(random, 1, 2 * episode->threads);
    config.magazine_rounds = 0;
    arena_create(&arena, &config, episode->threads, random);
    crew_run(episode, wait_body, &arena, NULL);
    arena_audit(&arena, random, episode->tally);
    arena_destroy(&arena);
}

const struct mode mode_wait = {
    .name = "wait",
    .purpose = "threads sleep until a slot is freed",
    .run = wait_run,
};
