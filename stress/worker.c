/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker.c - crews and bags (worker.h).
 *
 * Includes worker.h and disturb.h.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "disturb.h"
#include "worker.h"

#include <cpool/pools.h>

#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* The most slots that a bag has room for. */
#define BAG_ROOM_MAX 600

/* How long the main thread sleeps at a time while a crew works. */
#define CREW_NAP_NS 5000000

/* ---- Threads ------------------------------------------------------------------- */

static pthread_t worker_start(struct worker *worker, void *(*entry)(void *))
{
    pthread_t thread;
    int code = pthread_create(&thread, NULL, entry, worker);

    if (code != 0)
        stress_fail("pthread_create failed with %d", code);
    return thread;
}

static void *crew_entry(void *argument)
{
    struct worker *worker = argument;

    barrier_wait(worker->start, &worker->seat);
    disturb_enter(worker);
    worker->body(worker);
    disturb_leave();
    return NULL;
}

static void life_left(void *argument)
{
    (void)argument;
    disturb_leave();
}

static void *life_entry(void *argument)
{
    struct worker *worker = argument;

    disturb_enter(worker);
    pthread_cleanup_push(life_left, NULL);
    worker->life(worker);
    pthread_cleanup_pop(1);
    return NULL;
}

void worker_reborn(struct worker *worker, void (*life)(struct worker *worker))
{
    worker->life = life;
    disturb_leave();
    pthread_join(worker_start(worker, life_entry), NULL);
    disturb_enter(worker);
}

static uint64_t crew_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void crew_wait(struct episode *episode, void *context,
                      void (*meanwhile)(struct episode *, void *))
{
    uint64_t end = crew_now() + episode->nanoseconds;
    const struct timespec nap = {0, CREW_NAP_NS};

    while (crew_now() < end) {
        if (meanwhile != NULL)
            meanwhile(episode, context);
        else
            nanosleep(&nap, NULL);
    }
    atomic_store_explicit(&episode->stop, true, memory_order_relaxed);
}

void crew_run(struct episode *episode, void (*body)(struct worker *), void *context,
              void (*meanwhile)(struct episode *, void *))
{
    struct worker *crew = calloc(episode->threads, sizeof *crew);
    struct barrier start;

    if (crew == NULL || !barrier_init(&start, episode->threads))
        stress_fail("no memory for a crew of %u", episode->threads);
    for (unsigned int i = 0; i < episode->threads; i++) {
        crew[i].episode = episode;
        crew[i].context = context;
        crew[i].index = i;
        crew[i].random = random_derive(episode->seed, i);
        crew[i].owner.number = i + 1;
        crew[i].body = body;
        crew[i].start = &start;
        crew[i].thread = worker_start(&crew[i], crew_entry);
    }
    crew_wait(episode, context, meanwhile);
    for (unsigned int i = 0; i < episode->threads; i++) {
        pthread_join(crew[i].thread, NULL);
        episode->tally->operations += crew[i].operations;
        episode->tally->dry += crew[i].dry;
    }
    barrier_fini(&start);
    free(crew);
}

/* ---- Slots --------------------------------------------------------------------- */

void *worker_took(struct worker *worker, struct arena *arena, void *slot)
{
    if (slot == NULL) {
        worker->dry++;
        return NULL;
    }
    worker->operations++;
    stamp_take(&arena->book, &worker->owner, slot);
    return slot;
}

void *worker_gives(struct worker *worker, struct arena *arena, void *slot)
{
    worker->operations++;
    stamp_give(&arena->book, &worker->owner, slot);
    return slot;
}

void *worker_adopts(struct worker *worker, struct arena *arena, void *slot)
{
    stamp_adopt(&arena->book, &worker->owner, slot);
    return slot;
}

void bag_init(struct bag *bag, struct arena *arena, uint64_t *random, size_t holders)
{
    size_t share = arena->capacity / holders;

    bag->arena = arena;
    bag->room = 1 + (arena->ample ? share - (share > 0) : random_below(random, 2 * share + 2));
    if (bag->room > BAG_ROOM_MAX)
        bag->room = BAG_ROOM_MAX;
    bag->count = 0;
    bag->target = 0;
    bag->slots = calloc(bag->room, sizeof *bag->slots);
    if (bag->slots == NULL)
        stress_fail("no memory for a bag of %zu slots", bag->room);
}

void bag_fini(struct bag *bag)
{
    free(bag->slots);
}

void *bag_remove(struct bag *bag, uint64_t *random)
{
    size_t i = random_below(random, bag->count);
    void *slot = bag->slots[i];

    bag->slots[i] = bag->slots[--bag->count];
    return slot;
}

/* Frees that the library must always refuse. */
static void worker_misuse(struct worker *worker, struct bag *bag)
{
    cpool_t *pool = bag->arena->pool;
    char *slot;

    report_expect(CPOOL_EFOREIGN);
    cpool_free(pool, worker);
    STRESS_REQUIRE(report_expected_came());
    STRESS_REQUIRE(!cpool_owns(pool, worker));
    if (bag->count == 0 || bag->arena->slot_size == 1)
        return;
    slot = bag->slots[0];
    STRESS_REQUIRE(cpool_owns(pool, slot) && cpool_of(slot, NULL) == pool);
    STRESS_REQUIRE(!cpool_owns(pool, slot + 1));
    report_expect(CPOOL_EMISALIGNED);
    cpool_free(pool, slot + 1);
    STRESS_REQUIRE(report_expected_came());
}

/* Actions of threads other than allocating and freeing. */
static void worker_aside(struct worker *worker, struct bag *bag)
{
    struct arena *arena = bag->arena;

    switch (random_below(&worker->random, 8)) {
    case 0:
        worker_misuse(worker, bag);
        break;
    case 1:
        STRESS_REQUIRE(arena_stats(arena).capacity == arena->capacity || arena->moving);
        break;
    case 2:
        cpool_free(arena->pool, NULL);
        break;
    case 3:
    case 4:
        sched_yield();
        break;
    default:
        cpool_flush(arena->pool);
    }
}

/* Mostly none or all, so that magazines fill and empty; sometimes anything in between. */
static size_t worker_next_target(struct worker *worker, const struct bag *bag)
{
    size_t choice = random_below(&worker->random, 4);

    if (choice == 0)
        return 0;
    return choice == 1 ? bag->room : random_below(&worker->random, bag->room + 1);
}

static void worker_step_up(struct worker *worker, struct bag *bag)
{
    struct arena *arena = bag->arena;
    void *slot;

    if (random_once_in(&worker->random, 32)) {
        slot = cpool_calloc(arena->pool);
        if (slot != NULL) {
            worker->operations++;
            stamp_take_zeroed(&arena->book, &worker->owner, slot);
        }
    } else {
        slot = worker_took(worker, arena, cpool_alloc(arena->pool));
    }
    if (slot != NULL)
        bag_add(bag, slot);
    else
        bag->target = random_below(&worker->random, bag->count + 1);
}

void worker_step(struct worker *worker, struct bag *bag)
{
    if (bag->count == bag->target)
        bag->target = worker_next_target(worker, bag);
    if (bag->count < bag->target)
        worker_step_up(worker, bag);
    else if (bag->count > bag->target)
        cpool_free(bag->arena->pool,
                   worker_gives(worker, bag->arena, bag_remove(bag, &worker->random)));
    if (bag->count > 0 && random_once_in(&worker->random, 16))
        stamp_check(&bag->arena->book, &worker->owner,
                    bag->slots[random_below(&worker->random, bag->count)]);
    if (random_once_in(&worker->random, 512))
        worker_aside(worker, bag);
}

void worker_empty(struct worker *worker, struct bag *bag)
{
    while (bag->count > 0)
        cpool_free(bag->arena->pool,
                   worker_gives(worker, bag->arena, bag_remove(bag, &worker->random)));
}

void worker_leave(struct worker *worker, struct bag *bag)
{
    if (!random_once_in(&worker->random, 8))
        worker_empty(worker, bag);
}

void worker_steps(struct worker *worker)
{
    struct bag bag;

    bag_init(&bag, worker->context, &worker->random, worker->episode->threads);
    while (!episode_over(worker->episode))
        worker_step(worker, &bag);
    worker_leave(worker, &bag);
    bag_fini(&bag);
}
