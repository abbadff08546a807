/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_lifecycle.c - pools are created, reset and destroyed while their users, and those of other
 * pools, continue.
 *
 * Includes worker.h.  There are a few stations, each with a pool behind a read-write lock.  Threads
 * visit a station under the read lock, and leave only their caches behind.  Now and then a thread
 * takes the write lock instead, and replaces the pool by a new one, or resets it, including the
 * caches of all threads that have visited it.  One more pool is never replaced or reset, and is
 * used all the time.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#define LIFECYCLE_STATIONS 5

/* The longest visit, in steps, and the number of visits for each renewal. */
#define LIFECYCLE_STEPS_MAX 150
#define LIFECYCLE_VISITS 12

struct station {
    pthread_rwlock_t lock; /* for arena: held for writing to renew the pool */
    struct arena arena;
};

struct lifecycle {
    struct station stations[LIFECYCLE_STATIONS];
    struct arena constant;
};

static void station_open(struct station *station, size_t users, uint64_t *random)
{
    cpool_config_t config = arena_draw(random, random_once_in(random, 4) ? ARENA_ROOMY
                                                                         : ARENA_TIGHT);

    if (random_once_in(random, 6))
        config.flags = CPOOL_CHECKED;
    arena_create(&station->arena, &config, users, random);
}

static void station_visit(struct worker *worker, struct station *station)
{
    struct bag bag;

    pthread_rwlock_rdlock(&station->lock);
    bag_init(&bag, &station->arena, &worker->random, worker->episode->threads);
    for (size_t steps = random_between(&worker->random, 1, LIFECYCLE_STEPS_MAX); steps > 0; steps--)
        worker_step(worker, &bag);
    worker_empty(worker, &bag);
    bag_fini(&bag);
    pthread_rwlock_unlock(&station->lock);
}

/* Destroys or resets the pool, while some slots are still live. */
static void station_renew(struct worker *worker, struct station *station)
{
    struct arena *arena = &station->arena;

    pthread_rwlock_wrlock(&station->lock);
    for (size_t i = random_below(&worker->random, 4); i > 0; i--)
        worker_took(worker, arena, cpool_alloc(arena->pool));
    if (random_once_in(&worker->random, 3)) {
        size_t live = stamp_count_live(&arena->book);

        STRESS_REQUIRE(cpool_reset(arena->pool) == live);
        stamp_reset(&arena->book);
    } else {
        arena_destroy(arena);
        station_open(station, worker->episode->threads, &worker->random);
    }
    pthread_rwlock_unlock(&station->lock);
}

static void lifecycle_body(struct worker *worker)
{
    struct lifecycle *lifecycle = worker->context;
    struct bag constant;

    bag_init(&constant, &lifecycle->constant, &worker->random, worker->episode->threads);
    while (!episode_over(worker->episode)) {
        struct station *station =
            &lifecycle->stations[random_below(&worker->random, LIFECYCLE_STATIONS)];

        if (random_once_in(&worker->random, LIFECYCLE_VISITS))
            station_renew(worker, station);
        else
            station_visit(worker, station);
        for (size_t steps = random_below(&worker->random, LIFECYCLE_STEPS_MAX); steps > 0; steps--)
            worker_step(worker, &constant);
    }
    worker_leave(worker, &constant);
    bag_fini(&constant);
}

static void lifecycle_run(struct episode *episode)
{
    static struct lifecycle lifecycle; /* too large for a stack */
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, ARENA_TIGHT);

    arena_create(&lifecycle.constant, &config, episode->threads, random);
    for (size_t i = 0; i < LIFECYCLE_STATIONS; i++) {
        if (pthread_rwlock_init(&lifecycle.stations[i].lock, NULL) != 0)
            stress_fail("no read-write lock");
        station_open(&lifecycle.stations[i], episode->threads, random);
    }
    crew_run(episode, lifecycle_body, &lifecycle, NULL);
    for (size_t i = 0; i < LIFECYCLE_STATIONS; i++) {
        arena_audit(&lifecycle.stations[i].arena, random, episode->tally);
        arena_destroy(&lifecycle.stations[i].arena);
        pthread_rwlock_destroy(&lifecycle.stations[i].lock);
    }
    arena_audit(&lifecycle.constant, random, episode->tally);
    arena_destroy(&lifecycle.constant);
}

const struct mode mode_lifecycle = {
    .name = "lifecycle",
    .purpose = "pools are destroyed, made and reset under load of others",
    .run = lifecycle_run,
};
