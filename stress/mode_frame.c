/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_frame.c - frames of slots that go back together and pass from thread to thread.
 *
 * Includes worker.h.
 *
 * Each worker has a frame with slots.  It verifies them, and then ends the frame, resets it, or
 * leaves it with its slots to the next worker, which continues with it.  Meanwhile it also uses the
 * pool without the frame.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <cpool/frame.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The most slots of a frame. */
#define FRAME_SLOTS 600

/* A frame, and its slots as the last worker left them. */
struct frame_hand {
    cpool_frame_t *frame;
    void *slots[FRAME_SLOTS];
    size_t count;
};

struct frame_board {
    struct arena arena;
    _Atomic(struct frame_hand *) left; /* by a worker for another, or NULL */
};

static void frame_obtain(struct worker *worker, struct frame_board *board,
                         struct frame_hand *hand)
{
    void *slot;

    if (random_once_in(&worker->random, 16)) {
        slot = cpool_alloc(board->arena.pool);
        if (slot != NULL)
            STRESS_REQUIRE(cpool_frame_adopt(hand->frame, slot) == 0);
    } else {
        slot = cpool_frame_alloc(hand->frame);
    }
    if (worker_took(worker, &board->arena, slot) != NULL)
        hand->slots[hand->count++] = slot;
}

/* The slots no longer belong to the worker.  They get the stamps of free slots, whether they go
 * back or stay in the frame. */
static void frame_forget(struct worker *worker, struct frame_board *board,
                         const struct frame_hand *hand)
{
    for (size_t i = 0; i < hand->count; i++)
        worker_gives(worker, &board->arena, hand->slots[i]);
}

/* NULL if too many frames are open. */
static struct frame_hand *frame_new(struct frame_board *board)
{
    struct frame_hand *hand = calloc(1, sizeof *hand);
    int code;

    STRESS_REQUIRE(hand != NULL);
    code = cpool_frame_begin(&hand->frame, board->arena.pool);
    if (code == 0)
        return hand;
    STRESS_REQUIRE(code == CPOOL_ELIMIT);
    free(hand);
    return NULL;
}

static struct frame_hand *frame_give(struct worker *worker, struct frame_board *board,
                                     struct frame_hand *hand)
{
    frame_forget(worker, board, hand);
    if (random_once_in(&worker->random, 2)) {
        cpool_frame_reset(hand->frame);
        hand->count = 0;
        return hand;
    }
    cpool_frame_end(hand->frame);
    free(hand);
    return frame_new(board);
}

/* Leaves a frame for another worker, and takes one that was left. */
static struct frame_hand *frame_swap(struct worker *worker, struct frame_board *board,
                                     struct frame_hand *hand)
{
    frame_forget(worker, board, hand);
    hand = atomic_exchange(&board->left, hand);
    if (hand == NULL)
        return frame_new(board);
    for (size_t i = 0; i < hand->count; i++)
        worker_took(worker, &board->arena, hand->slots[i]);
    return hand;
}

static void frame_body(struct worker *worker)
{
    struct frame_board *board = worker->context;
    struct frame_hand *hand = frame_new(board);
    struct bag bag;

    bag_init(&bag, &board->arena, &worker->random, worker->episode->threads);
    while (!episode_over(worker->episode)) {
        size_t wanted = random_below(&worker->random, FRAME_SLOTS);

        for (size_t i = 0; i < wanted; i++) {
            if (hand != NULL && hand->count < FRAME_SLOTS)
                frame_obtain(worker, board, hand);
            if (random_once_in(&worker->random, 4))
                worker_step(worker, &bag);
        }
        if (hand == NULL)
            hand = frame_new(board);
        else if (random_once_in(&worker->random, 4))
            hand = frame_swap(worker, board, hand);
        else
            hand = frame_give(worker, board, hand);
    }
    if (hand != NULL) {
        frame_forget(worker, board, hand);
        cpool_frame_end(hand->frame);
        free(hand);
    }
    worker_empty(worker, &bag);
    bag_fini(&bag);
}

static void frame_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, arena_draw_room(random));
    struct frame_board board = {.left = NULL};
    struct frame_hand *left;

    arena_create(&board.arena, &config, episode->threads, random);
    crew_run(episode, frame_body, &board, NULL);
    left = atomic_load(&board.left);
    if (left != NULL)
        cpool_frame_end(left->frame);
    free(left);
    arena_audit(&board.arena, random, episode->tally);
    arena_destroy(&board.arena);
}

const struct mode mode_frame = {
    .name = "frame",
    .purpose = "frames of slots that go back at once, and go from thread to thread",
    .run = frame_run,
};
