/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_transfer.c - the transfer oracle: arrays of slots with entries that
 * change hands through a shared board all the time, held by threads that die
 * and are reborn.
 *
 * Includes board.h.  A slot's life goes through many hands here, and none of
 * them knows its origin.  Each verifies the bytes that the one before wrote.  A
 * pool that hands a slot out twice puts it into two of these arrays, and the
 * next look at either tells.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "board.h"

#include <stdlib.h>

/* The longest life, in steps. */
#define TRANSFER_STEPS_MAX 2000

struct transfer {
    struct arena arena;
    struct board board;
    struct bag *bags; /* one per worker, outliving the worker's threads */
};

/* An entry of the array against whatever lies on a place of the board. */
static void transfer_swap(struct worker *worker, struct transfer *transfer, struct bag *bag)
{
    void *slot = NULL;

    if (bag->count == bag->room || (bag->count > 0 && !random_once_in(&worker->random, 8)))
        slot = bag_remove(bag, &worker->random);
    if (slot != NULL)
        stamp_check(&transfer->arena.book, &worker->owner, slot);
    slot = board_swap(&transfer->board, &worker->random, slot);
    if (slot != NULL)
        bag_add(bag, worker_adopts(worker, &transfer->arena, slot));
}

static void transfer_life(struct worker *worker)
{
    struct transfer *transfer = worker->context;
    struct bag *bag = &transfer->bags[worker->index];
    size_t steps = random_between(&worker->random, 1, TRANSFER_STEPS_MAX);

    while (steps-- > 0 && !episode_over(worker->episode)) {
        worker_step(worker, bag);
        if (random_once_in(&worker->random, 2))
            transfer_swap(worker, transfer, bag);
    }
    if (random_once_in(&worker->random, 4))
        worker_empty(worker, bag);
}

static void transfer_body(struct worker *worker)
{
    while (!episode_over(worker->episode))
        worker_reborn(worker, transfer_life);
}

static void transfer_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    enum arena_room room = arena_draw_room(random);
    cpool_config_t config = arena_draw(random, room);
    struct transfer transfer = {0};

    arena_create(&transfer.arena, &config, episode->threads, random);
    transfer.arena.ample = room == ARENA_BUSY;
    transfer.bags = calloc(episode->threads, sizeof *transfer.bags);
    if (transfer.bags == NULL)
        stress_fail("no memory for %u bags", episode->threads);
    for (unsigned int i = 0; i < episode->threads; i++)
        bag_init(&transfer.bags[i], &transfer.arena, random, episode->threads);
    crew_run(episode, transfer_body, &transfer, NULL);
    board_clear(&transfer.board, &transfer.arena);
    for (unsigned int i = 0; i < episode->threads; i++)
        bag_fini(&transfer.bags[i]); /* its content stays live, for the audit */
    free(transfer.bags);
    arena_audit(&transfer.arena, random, episode->tally);
    arena_destroy(&transfer.arena);
}

const struct mode mode_transfer = {
    .name = "transfer",
    .purpose = "held slots change hands by atomic exchange; the holders die and are reborn",
    .run = transfer_run,
};
