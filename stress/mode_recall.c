/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_recall.c - empty means empty: one thread takes all slots while the others keep their caches
 * filled.
 *
 * Includes worker.h.  The threads work until all have reached a barrier.  Then one of them, each in
 * turn, takes slots until there are none left, and must have got the whole capacity except the live
 * slots.  It gives them back, and the work goes on.  So slots that an alloc reclaims from other
 * threads' caches are taken while those threads sleep, and are used by them when they wake up.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <stdlib.h>

/* The most steps between two drains. */
#define RECALL_STEPS_MAX 2000

struct recall {
    struct arena arena;
    struct barrier barrier;
    void **drained; /* room for all slots; used by the draining thread */
    bool over;      /* set by the draining thread, read by all after the next barrier */
};

/* All other threads are at rest, so only the live slots may be missing. */
static void recall_verify(const struct recall *recall, size_t count)
{
    const struct arena *arena = &recall->arena;
    size_t live = stamp_count_live(&arena->book); /* including those that were just taken */

    if (live < arena->capacity)
        stress_fail("dry after %zu slots, with %zu of %zu live and all other threads idle", count,
                    live, arena->capacity);
    if (live > arena->capacity)
        stress_fail("%zu slots of a pool of %zu are live", live, arena->capacity);
}

static void recall_drain(struct worker *worker, struct recall *recall)
{
    struct arena *arena = &recall->arena;
    size_t count = 0;
    void *slot;

    while ((slot = worker_took(worker, arena, cpool_alloc(arena->pool))) != NULL)
        recall->drained[count++] = slot;
    recall_verify(recall, count);
    while (count > 0)
        cpool_free(arena->pool, worker_gives(worker, arena, recall->drained[--count]));
    recall->over = episode_over(worker->episode);
}

static void recall_body(struct worker *worker)
{
    struct recall *recall = worker->context;
    struct barrier_seat seat = {0};
    struct bag bag;
    unsigned int turn = 0; /* the same in all threads */
    bool over = false;

    bag_init(&bag, &recall->arena, &worker->random, worker->episode->threads);
    while (!over) {
        for (size_t steps = random_below(&worker->random, RECALL_STEPS_MAX); steps > 0; steps--)
            worker_step(worker, &bag);
        barrier_wait(&recall->barrier, &seat);
        if (turn == worker->index)
            recall_drain(worker, recall);
        turn = (turn + 1) % worker->episode->threads;
        barrier_wait(&recall->barrier, &seat);
        over = recall->over;
    }
    worker_leave(worker, &bag);
    bag_fini(&bag);
}

static void recall_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, random_once_in(random, 2) ? ARENA_ROOMY
                                                                         : ARENA_TIGHT);
    struct recall recall = {0};

    arena_create(&recall.arena, &config, episode->threads, random);
    recall.drained = calloc(recall.arena.indices, sizeof *recall.drained);
    if (recall.drained == NULL || !barrier_init(&recall.barrier, episode->threads))
        stress_fail("no memory for a crew of %u", episode->threads);
    crew_run(episode, recall_body, &recall, NULL);
    barrier_fini(&recall.barrier);
    free(recall.drained);
    arena_audit(&recall.arena, random, episode->tally);
    arena_destroy(&recall.arena);
}

const struct mode mode_recall = {
    .name = "recall",
    .purpose = "one thread takes all there is while the others sleep on filled caches",
    .run = recall_run,
};
