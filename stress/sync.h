/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sync.h - a bounded queue and a barrier for the threads of the stress program.
 *
 * One interface, two implementations:
 *
 *   STRESS_CK       Concurrency Kit's ck_ring and ck_barrier
 *   otherwise       C11 atomics and pthread_barrier_t
 *
 * Concurrency Kit synchronises with inline assembly, which ThreadSanitizer does not see, so builds
 * for it use the second implementation even if Concurrency Kit is available.
 *
 * Invariants: a value taken from a queue happens after it was put there, and the queue orders
 * nothing else.  A lock around it would hide a missing order in the library from ThreadSanitizer.
 * Includes build.h.  Include <config.h> first, for HAVE_CK.
 */
#ifndef STRESS_SYNC_H
#define STRESS_SYNC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "build.h"

#if defined(HAVE_CK) && HAVE_CK && !STRESS_TSAN
#define STRESS_CK 1
#include <ck_barrier.h>
#include <ck_ring.h>
#endif

#ifdef STRESS_CK

/* ---- Concurrency Kit ------------------------------------------------------ */

struct queue {
    ck_ring_t ring;
    ck_ring_buffer_t *cells;
};

/* Makes an empty queue with `room` cells, a power of two above 1. */
static inline bool queue_init(struct queue *queue, size_t room)
{
    queue->cells = calloc(room, sizeof *queue->cells);
    ck_ring_init(&queue->ring, (unsigned int)room);
    return queue->cells != NULL;
}

static inline void queue_fini(struct queue *queue)
{
    free(queue->cells);
}

/* Appends a value.  Returns false when the queue is full.  Any thread.  It does not
 * wait. */
static inline bool queue_try_put(struct queue *queue, void *value)
{
    return ck_ring_enqueue_mpmc(&queue->ring, queue->cells, value);
}

/* Takes the oldest value.  Returns false when the queue is empty.  Any thread.  It does not
 * wait. */
static inline bool queue_try_take(struct queue *queue, void **value)
{
    return ck_ring_dequeue_mpmc(&queue->ring, queue->cells, value);
}

struct barrier {
    ck_barrier_centralized_t centre;
    unsigned int threads;
};

/* The data that each thread keeps of one barrier.  It starts as zeroes. */
struct barrier_seat {
    ck_barrier_centralized_state_t state;
};

static inline bool barrier_init(struct barrier *barrier, unsigned int threads)
{
    barrier->centre = (ck_barrier_centralized_t)CK_BARRIER_CENTRALIZED_INITIALIZER;
    barrier->threads = threads;
    return true;
}

static inline void barrier_fini(struct barrier *barrier)
{
    (void)barrier;
}

/* Returns when all threads of the barrier have called it. */
static inline void barrier_wait(struct barrier *barrier, struct barrier_seat *seat)
{
    ck_barrier_centralized(&barrier->centre, &seat->state, barrier->threads);
}

#else

/* ---- C11 and pthreads ------------------------------------------------------ */

/* Separates the two ends of a queue in memory, to keep them in their own cache lines. */
#define SYNC_LINE 128

/*
 * Each cell carries the turn at which it is ready: turn t for the putter of position t, t + 1 for
 * its taker, t + room for the putter one lap later.  So the turn hands a cell over, and the two
 * positions only assign cells.
 */
struct queue_cell {
    _Atomic size_t turn;
    void *value; /* plain: belongs to the thread that has the turn */
};

struct queue {
    struct queue_cell *cells;
    size_t mask;
    char before_put[SYNC_LINE];
    _Atomic size_t put;
    char between[SYNC_LINE];
    _Atomic size_t take;
    char after_take[SYNC_LINE];
};

/* Makes an empty queue with `room` cells, a power of two above 1. */
static inline bool queue_init(struct queue *queue, size_t room)
{
    queue->cells = calloc(room, sizeof *queue->cells);
    if (queue->cells == NULL)
        return false;
    for (size_t i = 0; i < room; i++)
        atomic_init(&queue->cells[i].turn, i);
    queue->mask = room - 1;
    atomic_init(&queue->put, 0);
    atomic_init(&queue->take, 0);
    return true;
}

static inline void queue_fini(struct queue *queue)
{
    free(queue->cells);
}

/*
 * Claims the next position of one end, once its cell shows turn position + lag.
 * The acquire pairs with the release store of the turn at the end of
 * queue_try_put (lag 1) and queue_try_take (lag 0).  The position itself orders
 * nothing, hence relaxed.
 */
static inline struct queue_cell *queue_claim(struct queue *queue, _Atomic size_t *end, size_t lag,
                                             size_t *position)
{
    *position = atomic_load_explicit(end, memory_order_relaxed);
    for (;;) {
        struct queue_cell *cell = &queue->cells[*position & queue->mask];
        size_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire);
        size_t ready = *position + lag;

        if (turn == ready) {
            if (atomic_compare_exchange_weak_explicit(end, position, *position + 1,
                                                      memory_order_relaxed, memory_order_relaxed))
                return cell;
        } else if ((ptrdiff_t)(turn - ready) < 0) {
            return NULL;
        } else {
            *position = atomic_load_explicit(end, memory_order_relaxed);
        }
    }
}

/* Appends a value.  Returns false when the queue is full.  Any thread.  It does not
 * wait. */
static inline bool queue_try_put(struct queue *queue, void *value)
{
    size_t position;
    struct queue_cell *cell = queue_claim(queue, &queue->put, 0, &position);

    if (cell == NULL)
        return false;
    cell->value = value;
    atomic_store_explicit(&cell->turn, position + 1, memory_order_release);
    return true;
}

/* Takes the oldest value.  Returns false when the queue is empty.  Any thread.  It does not
 * wait. */
static inline bool queue_try_take(struct queue *queue, void **value)
{
    size_t position;
    struct queue_cell *cell = queue_claim(queue, &queue->take, 1, &position);

    if (cell == NULL)
        return false;
    *value = cell->value;
    atomic_store_explicit(&cell->turn, position + queue->mask + 1, memory_order_release);
    return true;
}

struct barrier {
    pthread_barrier_t pthread;
};

/* The data that each thread keeps of one barrier.  It starts as zeroes. */
struct barrier_seat {
    char unused;
};

static inline bool barrier_init(struct barrier *barrier, unsigned int threads)
{
    return pthread_barrier_init(&barrier->pthread, NULL, threads) == 0;
}

static inline void barrier_fini(struct barrier *barrier)
{
    pthread_barrier_destroy(&barrier->pthread);
}

/* Returns when all threads of the barrier have called it. */
static inline void barrier_wait(struct barrier *barrier, struct barrier_seat *seat)
{
    (void)seat;
    pthread_barrier_wait(&barrier->pthread);
}

#endif /* STRESS_CK */

#endif /* STRESS_SYNC_H */
