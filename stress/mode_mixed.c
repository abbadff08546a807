/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_mixed.c - many pools of all shapes at once, used by all threads.  Also with checked pools.
 *
 * Includes worker.h.  Most of the pools have 1 to 200 slots, fewer than the
 * threads want, so that every path around a dry pool is taken all the time.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <stdlib.h>

/* The most pools at a time, and the longest stay of a thread at one pool. */
#define MIXED_ARENAS_MAX 12
#define MIXED_STEPS_MAX 200

struct mixed {
    struct arena arenas[MIXED_ARENAS_MAX];
    size_t count;
};

static void mixed_body(struct worker *worker)
{
    struct mixed *mixed = worker->context;
    struct bag bags[MIXED_ARENAS_MAX];

    for (size_t i = 0; i < mixed->count; i++)
        bag_init(&bags[i], &mixed->arenas[i], &worker->random, worker->episode->threads);
    while (!episode_over(worker->episode)) {
        struct bag *bag = &bags[random_below(&worker->random, mixed->count)];

        for (size_t steps = random_between(&worker->random, 1, MIXED_STEPS_MAX); steps > 0; steps--)
            worker_step(worker, bag);
    }
    for (size_t i = 0; i < mixed->count; i++) {
        worker_leave(worker, &bags[i]);
        bag_fini(&bags[i]);
    }
}

static void mixed_run_with(struct episode *episode,
                           void (*shape)(cpool_config_t *config, uint64_t *random))
{
    uint64_t *random = &episode->random;
    struct mixed *mixed = calloc(1, sizeof *mixed);

    if (mixed == NULL)
        stress_fail("no memory for the pools");
    mixed->count = random_between(random, 1, MIXED_ARENAS_MAX);
    for (size_t i = 0; i < mixed->count; i++) {
        cpool_config_t config = arena_draw(random, random_once_in(random, 6) ? ARENA_ROOMY
                                                                             : ARENA_TIGHT);

        shape(&config, random);
        arena_create(&mixed->arenas[i], &config, episode->threads, random);
    }
    crew_run(episode, mixed_body, mixed, NULL);
    for (size_t i = 0; i < mixed->count; i++) {
        arena_audit(&mixed->arenas[i], random, episode->tally);
        arena_destroy(&mixed->arenas[i]);
    }
    free(mixed);
}

static void mixed_plain(cpool_config_t *config, uint64_t *random)
{
    (void)random;
    config->flags = 0;
}

static void mixed_checked(cpool_config_t *config, uint64_t *random)
{
    (void)random;
    config->flags = CPOOL_CHECKED;
}

static void mixed_run(struct episode *episode)
{
    mixed_run_with(episode, mixed_plain);
}

static void checked_run(struct episode *episode)
{
    mixed_run_with(episode, mixed_checked);
}

const struct mode mode_mixed = {
    .name = "mixed",
    .purpose = "many pools of all shapes at once, most of them tiny and dry",
    .run = mixed_run,
};

const struct mode mode_checked = {
    .name = "checked",
    .purpose = "the same with checked pools",
    .run = checked_run,
};
