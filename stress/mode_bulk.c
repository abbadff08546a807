/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_bulk.c - arrays of slots at once, mixed with single slots.
 *
 * Includes worker.h.  NULL entries are skipped when an array is freed.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

/* The largest array. */
#define BULK_MAX 700

static void bulk_receive(struct worker *worker, struct bag *bag, void **slots, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bag_add(bag, worker_took(worker, bag->arena, slots[i]));
}

/* Mostly about the size of a magazine, where the cases differ. */
static size_t bulk_draw(struct worker *worker, const struct bag *bag, size_t most)
{
    size_t rounds = bag->arena->rounds;
    size_t n = random_once_in(&worker->random, 2)
                   ? random_between(&worker->random, rounds / 2, 2 * rounds + 2)
                   : random_below(&worker->random, BULK_MAX);

    return n < most ? n : most;
}

static void bulk_alloc(struct worker *worker, struct bag *bag)
{
    void *slots[BULK_MAX];
    size_t wanted = bulk_draw(worker, bag, bag->room - bag->count);
    size_t n = cpool_alloc_bulk(bag->arena->pool, slots, wanted, 0);

    STRESS_REQUIRE(n <= wanted);
    if (n < wanted)
        worker->dry++;
    bulk_receive(worker, bag, slots, n);
}

static void bulk_free(struct worker *worker, struct bag *bag)
{
    void *slots[BULK_MAX];
    size_t wanted = bulk_draw(worker, bag, bag->count);

    for (size_t i = 0; i < wanted; i++) {
        if (random_once_in(&worker->random, 32))
            slots[i] = NULL;
        else
            slots[i] = worker_gives(worker, bag->arena, bag_remove(bag, &worker->random));
    }
    cpool_free_bulk(bag->arena->pool, slots, wanted);
}

static void bulk_body(struct worker *worker)
{
    struct bag bag;

    bag_init(&bag, worker->context, &worker->random, worker->episode->threads);
    while (!episode_over(worker->episode)) {
        switch (random_below(&worker->random, 6)) {
        case 0:
        case 1:
            bulk_alloc(worker, &bag);
            break;
        case 2:
        case 3:
            bulk_free(worker, &bag);
            break;
        default:
            worker_step(worker, &bag);
        }
    }
    worker_leave(worker, &bag);
    bag_fini(&bag);
}

static void bulk_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, random_once_in(random, 2) ? ARENA_ROOMY
                                                                         : ARENA_TIGHT);
    struct arena arena;

    arena_create(&arena, &config, episode->threads, random);
    crew_run(episode, bulk_body, &arena, NULL);
    arena_audit(&arena, random, episode->tally);
    arena_destroy(&arena);
}

const struct mode mode_bulk = {
    .name = "bulk",
    .purpose = "arrays of slots at once, some of them all or nothing",
    .run = bulk_run,
};
