/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_memory.c - the pool grows, shrinks, is trimmed and reserved from while
 * threads allocate and free.
 *
 * Includes worker.h.  Trimming destroys the bytes of free slots, so the book accepts zeroes in a
 * free slot, in part or as a whole.  A live slot must keep every byte.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <sched.h>

/* Changes the pool's memory in one of several ways, at random. */
static void memory_meanwhile(struct episode *episode, void *context)
{
    struct arena *arena = context;
    uint64_t *random = &episode->random;
    size_t n = 1 + random_below(random, arena->capacity);

    switch (random_below(random, 5)) {
    case 0:
        STRESS_REQUIRE(cpool_grow(arena->pool, n) <= n);
        break;
    case 1:
        STRESS_REQUIRE(cpool_shrink(arena->pool, n) <= n);
        break;
    case 2: {
        int code = cpool_reserve(arena->pool, n / 8);

        STRESS_REQUIRE(code == 0 || code == CPOOL_EDRY);
        break;
    }
    default:
        cpool_trim(arena->pool);
    }
    sched_yield();
}

static void memory_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, random_once_in(random, 2) ? ARENA_ROOMY
                                                                         : ARENA_TIGHT);
    struct arena arena;

    config.max_capacity = config.capacity * (1 + random_below(random, 6)) + 1;
    arena_create(&arena, &config, episode->threads, random);
    arena.moving = true;
    arena.book.purged = true;
    crew_run(episode, worker_steps, &arena, memory_meanwhile);
    arena_audit(&arena, random, episode->tally);
    arena_destroy(&arena);
}

const struct mode mode_memory = {
    .name = "memory",
    .purpose = "grow, shrink, trim and reserve under load",
    .run = memory_run,
};
