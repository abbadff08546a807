/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_lease.c - frames of slots that all threads obtain and that go back at once.
 *
 * Includes worker.h.
 *
 * The frames of a crew are in step.  Two leases overlap: the slots of one frame
 * are verified in the next one, and go back at its end, or at a reset.  Beside that the threads
 * use the pool as always, adopt some slots, and reset leases of their own.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <cpool/lease.h>
#include <stdlib.h>

/* Slots that a thread obtains in one frame at most. */
#define LEASE_FRAME 600

/* And under a lease of its own. */
#define LEASE_OWN 40

struct lease_frame {
    struct arena arena;
    struct barrier step;
    cpool_lease_t *leases[2]; /* of even and odd frames, changed between the steps */
    bool over;                /* likewise */
};

/* The slots of a worker in the last two frames. */
struct lease_hand {
    void *slots[2][LEASE_FRAME];
    size_t count[2];
};

static void lease_add(struct worker *worker, struct lease_frame *frame, struct lease_hand *hand,
                      unsigned now, void *slot)
{
    if (worker_took(worker, &frame->arena, slot) != NULL)
        hand->slots[now][hand->count[now]++] = slot;
}

/* One slot more, under the lease or adopted by it. */
static void lease_obtain(struct worker *worker, struct lease_frame *frame,
                         struct lease_hand *hand, unsigned now)
{
    void *slot;

    if (random_once_in(&worker->random, 16)) {
        slot = cpool_alloc(frame->arena.pool);
        if (slot != NULL)
            STRESS_REQUIRE(cpool_lease_adopt(frame->leases[now], slot) == 0);
        lease_add(worker, frame, hand, now, slot);
    } else {
        lease_add(worker, frame, hand, now, cpool_lease_alloc(frame->leases[now]));
    }
}

/* The worker's slots of a frame are no longer its own. */
static void lease_give(struct worker *worker, struct lease_frame *frame, struct lease_hand *hand,
                       unsigned which)
{
    while (hand->count[which] > 0)
        worker_gives(worker, &frame->arena, hand->slots[which][--hand->count[which]]);
}

static void lease_turn(struct worker *worker, struct lease_frame *frame, unsigned now)
{
    if (random_once_in(&worker->random, 2)) {
        cpool_lease_reset(frame->leases[1 - now]);
    } else {
        cpool_lease_end(frame->leases[1 - now]);
        frame->leases[1 - now] = cpool_lease_begin(frame->arena.pool);
        STRESS_REQUIRE(frame->leases[1 - now] != NULL);
    }
    frame->over = episode_over(worker->episode);
}

/* A frame under a lease of the worker's own, which no other thread uses. */
static void lease_own(struct worker *worker, struct lease_frame *frame, cpool_lease_t *own)
{
    size_t wanted = random_below(&worker->random, LEASE_OWN);
    void *slots[LEASE_OWN];
    size_t count = 0;

    for (size_t i = 0; i < wanted; i++) {
        void *slot = cpool_lease_alloc(own);

        if (worker_took(worker, &frame->arena, slot) != NULL)
            slots[count++] = slot;
    }
    for (size_t i = 0; i < count; i++)
        worker_gives(worker, &frame->arena, slots[i]);
    STRESS_REQUIRE(cpool_lease_reset(own) == count);
}

static void lease_body(struct worker *worker)
{
    struct lease_frame *frame = worker->context;
    struct lease_hand *hand = calloc(1, sizeof *hand);
    cpool_lease_t *own = cpool_lease_begin(frame->arena.pool); /* or NULL */
    struct barrier_seat seat = {0};
    struct bag bag;
    unsigned now = 0;

    STRESS_REQUIRE(hand != NULL);
    bag_init(&bag, &frame->arena, &worker->random, worker->episode->threads);
    while (!frame->over) {
        size_t wanted = random_below(&worker->random, LEASE_FRAME);

        for (size_t i = 0; i < wanted && hand->count[now] < LEASE_FRAME; i++) {
            lease_obtain(worker, frame, hand, now);
            if (random_once_in(&worker->random, 4))
                worker_step(worker, &bag);
            if (own != NULL && random_once_in(&worker->random, 16))
                lease_own(worker, frame, own);
        }
        lease_give(worker, frame, hand, 1 - now);
        barrier_wait(&frame->step, &seat);
        if (worker->index == 0)
            lease_turn(worker, frame, now);
        barrier_wait(&frame->step, &seat);
        now = 1 - now;
    }
    lease_give(worker, frame, hand, 0);
    lease_give(worker, frame, hand, 1);
    if (own != NULL)
        STRESS_REQUIRE(cpool_lease_end(own) == 0);
    worker_empty(worker, &bag);
    bag_fini(&bag);
    free(hand);
}

static void lease_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, arena_draw_room(random));
    struct lease_frame frame = {.over = false};

    /* Each lease has one of its own, and must find it. */
    config.thread_caches = 5 * (size_t)episode->threads + 4;
    arena_create(&frame.arena, &config, config.thread_caches, random);
    STRESS_REQUIRE(barrier_init(&frame.step, episode->threads));
    for (unsigned i = 0; i < 2; i++) {
        frame.leases[i] = cpool_lease_begin(frame.arena.pool);
        STRESS_REQUIRE(frame.leases[i] != NULL);
    }
    crew_run(episode, lease_body, &frame, NULL);
    for (unsigned i = 0; i < 2; i++)
        cpool_lease_end(frame.leases[i]);
    barrier_fini(&frame.step);
    arena_audit(&frame.arena, random, episode->tally);
    arena_destroy(&frame.arena);
}

const struct mode mode_lease = {
    .name = "lease",
    .purpose = "frames of slots that go back at once, two of them overlapping",
    .run = lease_run,
};
