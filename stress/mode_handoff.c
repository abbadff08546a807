/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_handoff.c - slots allocated by one thread are freed by another.
 *
 * Includes worker.h.  In the mode `pairs` each producer has its own consumer and queue, in `crowd`
 * all producers and consumers share one queue.  Every slot crosses from thread to thread twice:
 * through the queue while live, and through the depot while free.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <sched.h>
#include <stdlib.h>

/* The most cells a queue has, as a power of two. */
#define HANDOFF_QUEUE_LOG2_MAX 10

struct handoff {
    struct arena arena;
    struct queue *queues;
    unsigned int producers; /* workers below this index produce */
    unsigned int lanes;     /* queues, with queue i mod lanes for producer i and consumer
                               i */
};

static struct queue *handoff_queue(struct worker *worker)
{
    struct handoff *handoff = worker->context;

    return &handoff->queues[worker->index % handoff->lanes];
}

static void handoff_produce(struct worker *worker, struct handoff *handoff)
{
    struct queue *queue = handoff_queue(worker);
    void *slot = worker_took(worker, &handoff->arena, cpool_alloc(handoff->arena.pool));

    if (slot == NULL) {
        sched_yield();
        return;
    }
    while (!queue_try_put(queue, slot)) {
        if (episode_over(worker->episode)) {
            cpool_free(handoff->arena.pool, worker_gives(worker, &handoff->arena, slot));
            return;
        }
        sched_yield();
    }
}

static void handoff_consume(struct worker *worker, struct handoff *handoff)
{
    void *slot;

    if (!queue_try_take(handoff_queue(worker), &slot)) {
        sched_yield();
        return;
    }
    worker_adopts(worker, &handoff->arena, slot);
    cpool_free(handoff->arena.pool, worker_gives(worker, &handoff->arena, slot));
}

static void handoff_body(struct worker *worker)
{
    struct handoff *handoff = worker->context;

    while (!episode_over(worker->episode)) {
        if (worker->index < handoff->producers)
            handoff_produce(worker, handoff);
        else
            handoff_consume(worker, handoff);
    }
}

/* The threads have ended.  Half of the time the slots in the queues stay live, otherwise the main
 * thread frees them. */
static void handoff_clear(struct handoff *handoff, uint64_t *random)
{
    struct stamp_owner owner = {.number = STAMP_OWNERS - 1};
    bool freed = random_once_in(random, 2);
    void *slot;

    for (unsigned int i = 0; i < handoff->lanes; i++) {
        while (queue_try_take(&handoff->queues[i], &slot)) {
            stamp_adopt(&handoff->arena.book, &owner, slot);
            if (freed) {
                stamp_give(&handoff->arena.book, &owner, slot);
                cpool_free(handoff->arena.pool, slot);
            }
        }
        queue_fini(&handoff->queues[i]);
    }
}

static void handoff_run(struct episode *episode, unsigned int producers, unsigned int lanes)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, random_once_in(random, 3) ? ARENA_ROOMY
                                                                         : ARENA_TIGHT);
    struct handoff handoff = {.producers = producers, .lanes = lanes};

    arena_create(&handoff.arena, &config, episode->threads, random);
    handoff.queues = calloc(lanes, sizeof *handoff.queues);
    if (handoff.queues == NULL)
        stress_fail("no memory for %u queues", lanes);
    for (unsigned int i = 0; i < lanes; i++)
        if (!queue_init(&handoff.queues[i],
                        (size_t)1 << random_between(random, 1, HANDOFF_QUEUE_LOG2_MAX)))
            stress_fail("no memory for a queue");
    crew_run(episode, handoff_body, &handoff, NULL);
    handoff_clear(&handoff, random);
    free(handoff.queues);
    arena_audit(&handoff.arena, random, episode->tally);
    arena_destroy(&handoff.arena);
}

/* With an odd number of threads one queue has two consumers. */
static void pairs_run(struct episode *episode)
{
    handoff_run(episode, episode->threads / 2, episode->threads / 2);
}

static void crowd_run(struct episode *episode)
{
    handoff_run(episode, (unsigned int)random_between(&episode->random, 1, episode->threads - 1),
                1);
}

const struct mode mode_pairs = {
    .name = "pairs",
    .purpose = "producer to consumer, one to one",
    .run = pairs_run,
};

const struct mode mode_crowd = {
    .name = "crowd",
    .purpose = "producers to consumers, many to many",
    .run = crowd_run,
};
