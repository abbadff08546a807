/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * board.h - an array of places, each for one live slot, through which threads exchange slots.
 *
 * Includes worker.h.  Places are only ever exchanged, so a thread that gets a slot from one is its
 * only owner.  The exchange is an acquire and a release, so the taker of a slot also sees the
 * writes of the thread that put it there.
 */
#ifndef STRESS_BOARD_H
#define STRESS_BOARD_H

#include "worker.h"

#define BOARD_PLACES 64

struct board {
    _Atomic(void *) places[BOARD_PLACES];
};

/* Puts a slot, or NULL, into a random place.  Returns the previous content, or NULL. */
static inline void *board_swap(struct board *board, uint64_t *random, void *slot)
{
    return atomic_exchange_explicit(&board->places[random_below(random, BOARD_PLACES)], slot,
                                    memory_order_acq_rel);
}

/* Frees the slots on the board, when the crew has ended. */
static inline void board_clear(struct board *board, struct arena *arena)
{
    struct stamp_owner owner = {.number = STAMP_OWNERS - 2};

    for (size_t i = 0; i < BOARD_PLACES; i++) {
        void *slot = atomic_exchange_explicit(&board->places[i], NULL, memory_order_acq_rel);

        if (slot != NULL) {
            stamp_adopt(&arena->book, &owner, slot);
            stamp_give(&arena->book, &owner, slot);
            cpool_free(arena->pool, slot);
        }
    }
}

#endif /* STRESS_BOARD_H */
