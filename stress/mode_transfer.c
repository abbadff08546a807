/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_transfer.c - the transfer oracle: arrays of slots whose entries are exchanged through a
 * shared board all the time, by threads that end and are restarted.
 *
 * Includes board.h.  Slots pass through many threads here, none of which knows their origin.  Each
 * verifies the bytes that the previous owner wrote.  If a pool hands a slot out twice, it is in two
 * of these arrays, and the next check of either finds that.
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

/* Exchanges an entry of the array for what is in a place of the board. */
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
        bag_fini(&transfer.bags[i]); /* its slots stay live, for the audit */
    free(transfer.bags);
    arena_audit(&transfer.arena, random, episode->tally);
    arena_destroy(&transfer.arena);
}

const struct mode mode_transfer = {
    .name = "transfer",
    .purpose = "held slots change hands by atomic exchange; the holders die and are reborn",
    .run = transfer_run,
};
