/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_typed.c - a typed pool, used through its functions and its handle.
 *
 * Includes worker.h.  In half of the episodes all threads make the first alloc at the same time, so
 * that one of them creates the pool.  In the others it is opened with random settings.  Threads end
 * with slots in their entries, which must not be lost.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <stdlib.h>

#define TYPED_CAPACITY 300
#define TYPED_BULK 8
#define TYPED_STEPS 200

struct typed_item {
    uint64_t words[5];
};

CPOOL_DECLARE(items, struct typed_item);
CPOOL_DEFINE(items, struct typed_item, .capacity = TYPED_CAPACITY, .name = "items");

struct typed {
    struct arena arena;
    struct bag *bags;       /* one for each worker, outliving its threads */
    struct barrier created; /* of the first allocs */
    bool races;
};

static void typed_take(struct worker *worker, struct arena *arena, struct bag *bag)
{
    struct typed_item *taken[TYPED_BULK];
    size_t room = bag->room - bag->count;
    size_t n = 1;

    switch (random_below(&worker->random, 8)) {
    case 0:
        n = items_alloc_bulk(taken, room < TYPED_BULK ? room : TYPED_BULK, 0);
        break;
    case 1:
        taken[0] = cpool_alloc(arena->pool);
        break;
    default:
        taken[0] = items_alloc();
    }
    for (size_t i = 0; i < n; i++)
        if (worker_took(worker, arena, taken[i]) != NULL)
            bag_add(bag, taken[i]);
}

static void typed_give(struct worker *worker, struct arena *arena, struct bag *bag)
{
    struct typed_item *given[TYPED_BULK];
    size_t n = 0;

    given[n++] = worker_gives(worker, arena, bag_remove(bag, &worker->random));
    switch (random_below(&worker->random, 8)) {
    case 0:
        while (n < TYPED_BULK && bag->count > 0)
            given[n++] = worker_gives(worker, arena, bag_remove(bag, &worker->random));
        items_free_bulk(given, n);
        break;
    case 1:
        cpool_free(arena->pool, given[0]);
        break;
    default:
        items_free(given[0]);
    }
}

static void typed_life(struct worker *worker)
{
    struct typed *typed = worker->context;
    struct bag *bag = &typed->bags[worker->index];
    size_t steps = random_between(&worker->random, 1, TYPED_STEPS);

    while (steps-- > 0 && !episode_over(worker->episode)) {
        if (random_once_in(&worker->random, 64))
            worker_step(worker, bag);
        else if (bag->count == 0 || (bag->count < bag->room && random_once_in(&worker->random, 2)))
            typed_take(worker, &typed->arena, bag);
        else
            typed_give(worker, &typed->arena, bag);
    }
}

/* All threads use the pool that one of them has created. */
static void typed_begin(struct worker *worker, struct typed *typed)
{
    const cpool_config_t config = {.size = sizeof config, .slot_size = sizeof(struct typed_item),
                                   .capacity = TYPED_CAPACITY};
    struct typed_item *first = typed->races ? items_alloc() : NULL;
    struct barrier_seat seat = {0};

    barrier_wait(&typed->created, &seat);
    if (worker->index == 0 && typed->races) {
        typed->arena.pool = items_pool();
        arena_watch(&typed->arena, &config, worker->episode->threads);
    }
    barrier_wait(&typed->created, &seat);
    bag_init(&typed->bags[worker->index], &typed->arena, &worker->random,
             worker->episode->threads);
    if (worker_took(worker, &typed->arena, first) != NULL)
        items_free(worker_gives(worker, &typed->arena, first));
}

static void typed_body(struct worker *worker)
{
    struct typed *typed = worker->context;

    typed_begin(worker, typed);
    while (!episode_over(worker->episode))
        if (random_once_in(&worker->random, 4))
            worker_reborn(worker, typed_life);
        else
            typed_life(worker);
    worker_leave(worker, &typed->bags[worker->index]);
}

static void typed_open(struct typed *typed, struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, arena_draw_room(random));
    int code;

    config.slot_size = sizeof(struct typed_item);
    config.slot_align = 0;
    config.slot_offset = 0;
    config.magazine_rounds = 0;
    if (random_once_in(random, 6))
        config.flags = CPOOL_TRACKED;
    code = items_open(&config);
    if (code != 0)
        stress_fail("items_open: %s", cpool_strerror(code));
    typed->arena.pool = items_pool();
    arena_watch(&typed->arena, &config, episode->threads);
}

static void typed_run(struct episode *episode)
{
    struct typed typed = {.races = random_once_in(&episode->random, 2)};

    typed.bags = calloc(episode->threads, sizeof *typed.bags);
    STRESS_REQUIRE(typed.bags != NULL && barrier_init(&typed.created, episode->threads));
    if (!typed.races)
        typed_open(&typed, episode);
    crew_run(episode, typed_body, &typed, NULL);
    for (unsigned i = 0; i < episode->threads; i++)
        bag_fini(&typed.bags[i]);
    free(typed.bags);
    barrier_fini(&typed.created);
    arena_audit(&typed.arena, &episode->random, episode->tally);
    arena_destroy(&typed.arena);
}

const struct mode mode_typed = {
    .name = "typed",
    .purpose = "a typed pool by its functions and by its handle, made on first use by all",
    .run = typed_run,
};
