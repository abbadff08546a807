/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deque.c - see deque.h, which also has the ordering table.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "deque.h"

#include <stdlib.h>

/* Items a new deque has room for; a power of two. */
#define DEQUE_FIRST_SIZE 256

struct deque_ring {
    struct deque_ring *outgrown; /* the ring before this one, kept for late thieves */
    int64_t size;                /* cells, a power of two */
    _Atomic(void *) items[];
};

static struct deque_ring *ring_create(int64_t size, struct deque_ring *outgrown)
{
    struct deque_ring *ring = malloc(sizeof *ring + (size_t)size * sizeof ring->items[0]);

    if (ring != NULL) {
        ring->outgrown = outgrown;
        ring->size = size;
        for (int64_t i = 0; i < size; i++)
            atomic_init(&ring->items[i], NULL);
    }
    return ring;
}

static void *ring_get(struct deque_ring *ring, int64_t index)
{
    return atomic_load_explicit(&ring->items[index & (ring->size - 1)],
                                memory_order_relaxed); /* [own] */
}

static void ring_put(struct deque_ring *ring, int64_t index, void *item)
{
    atomic_store_explicit(&ring->items[index & (ring->size - 1)], item,
                          memory_order_relaxed); /* [own] published by push or grow */
}

bool deque_init(struct deque *deque)
{
    struct deque_ring *ring = ring_create(DEQUE_FIRST_SIZE, NULL);

    atomic_init(&deque->top, 0);
    atomic_init(&deque->bottom, 0);
    atomic_init(&deque->ring, ring);
    return ring != NULL;
}

void deque_fini(struct deque *deque)
{
    struct deque_ring *ring = atomic_load_explicit(&deque->ring, memory_order_relaxed); /* [own] */

    while (ring != NULL) {
        struct deque_ring *outgrown = ring->outgrown;

        free(ring);
        ring = outgrown;
    }
}

/* Replaces a full ring by one of twice the size.  Returns NULL without memory. */
static struct deque_ring *deque_grow(struct deque *deque, struct deque_ring *full, int64_t top,
                                     int64_t bottom)
{
    struct deque_ring *ring = ring_create(full->size * 2, full);

    if (ring == NULL)
        return NULL;
    for (int64_t i = top; i < bottom; i++)
        ring_put(ring, i, ring_get(full, i));
    atomic_store_explicit(&deque->ring, ring, memory_order_release); /* [grow] */
    return ring;
}

bool deque_push(struct deque *deque, void *item)
{
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed); /* [own] */
    int64_t top = atomic_load_explicit(&deque->top, memory_order_acquire); /* [full] */
    struct deque_ring *ring = atomic_load_explicit(&deque->ring, memory_order_relaxed); /* [own] */

    if (bottom - top >= ring->size) {
        ring = deque_grow(deque, ring, top, bottom);
        if (ring == NULL)
            return false;
    }
    ring_put(ring, bottom, item);
    atomic_store_explicit(&deque->bottom, bottom + 1, memory_order_seq_cst); /* [push] */
    return true;
}

/* Claims the item that top points to, against all other threads. */
static bool deque_win(struct deque *deque, int64_t top)
{
    return atomic_compare_exchange_strong_explicit(&deque->top, &top, top + 1,
                                                   memory_order_seq_cst,  /* [race] */
                                                   memory_order_relaxed); /* [own] */
}

void *deque_take(struct deque *deque)
{
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed) - 1; /* [own] */
    struct deque_ring *ring = atomic_load_explicit(&deque->ring, memory_order_relaxed); /* [own] */
    void *item = NULL;
    int64_t top;

    atomic_store_explicit(&deque->bottom, bottom, memory_order_seq_cst); /* [claim] */
    top = atomic_load_explicit(&deque->top, memory_order_seq_cst);       /* [top] */
    if (top <= bottom)
        item = ring_get(ring, bottom);
    if (top < bottom)
        return item;
    /* The last item, which a thief may want as well, or none at all. */
    if (top == bottom && !deque_win(deque, top))
        item = NULL;
    atomic_store_explicit(&deque->bottom, bottom + 1, memory_order_release); /* [undo] */
    return item;
}

enum deque_theft deque_steal(struct deque *deque, void **item)
{
    int64_t top = atomic_load_explicit(&deque->top, memory_order_seq_cst);       /* [top] */
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_seq_cst); /* [bottom] */

    if (top >= bottom)
        return DEQUE_EMPTY;
    /* Read before the race is won: afterwards the cell may be reused. */
    *item = ring_get(atomic_load_explicit(&deque->ring, memory_order_acquire), top); /* [ring] */
    return deque_win(deque, top) ? DEQUE_STOLEN : DEQUE_LOST;
}

bool deque_has_items(struct deque *deque)
{
    return atomic_load_explicit(&deque->top, memory_order_seq_cst) < /* [top] */
           atomic_load_explicit(&deque->bottom, memory_order_seq_cst); /* [bottom] */
}
