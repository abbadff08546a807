/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h - a bounded queue from one producer to one consumer, for workloads
 * that hand slots from thread to thread.
 *
 * Includes bench.h only.  The queue is not what is measured, so it must cost as
 * little as a queue can: each end keeps its own copy of the other end's counter
 * and looks at the real one only when the copy says full or empty (the idea of
 * L. Lamport's queue, "Specifying concurrent program modules", 1983, with the
 * traffic taken out).  ck_ring reads the other end's counter every time, which
 * costs more than an allocation and would hide what is compared.
 *
 *   tag | operation               | order   | pairs with | what it publishes
 *   R1  | store of tail, by put   | release | R2         | the cells before tail
 *   R2  | load of tail, by get    | acquire | R1         |
 *   R3  | store of head, by get   | release | R4         | that cells are read
 *   R4  | load of head, by put    | acquire | R3         |
 */
#ifndef BENCH_RING_H
#define BENCH_RING_H

#include "bench.h"

struct bench_ring {
    void **cells; /* constant */
    size_t mask;  /* constant: cells - 1 */
    char padding0[BENCH_LINE];
    size_t tail;      /* atomic: written by the producer */
    size_t seen_head; /* the producer's copy of head */
    char padding1[BENCH_LINE];
    size_t head;      /* atomic: written by the consumer */
    size_t seen_tail; /* the consumer's copy of tail */
    char padding2[BENCH_LINE];
};

/* `room` is a power of two. */
static inline void bench_ring_init(struct bench_ring *ring, size_t room)
{
    ring->cells = (void **)bench_memory(room, sizeof(void *));
    ring->mask = room - 1;
    ring->tail = ring->seen_head = ring->head = ring->seen_tail = 0;
}

/* False when it is full. */
static inline bool bench_ring_has_room(struct bench_ring *ring)
{
    if (ring->tail - ring->seen_head <= ring->mask)
        return true;
    ring->seen_head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE); /* R4 */
    return ring->tail - ring->seen_head <= ring->mask;
}

/* Only after bench_ring_has_room said true. */
static inline void bench_ring_put(struct bench_ring *ring, void *item)
{
    ring->cells[ring->tail & ring->mask] = item;
    __atomic_store_n(&ring->tail, ring->tail + 1, __ATOMIC_RELEASE); /* R1 */
}

/* NULL when it is empty. */
static inline void *bench_ring_get(struct bench_ring *ring)
{
    void *item;

    if (ring->head == ring->seen_tail) {
        ring->seen_tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE); /* R2 */
        if (ring->head == ring->seen_tail)
            return NULL;
    }
    item = ring->cells[ring->head & ring->mask];
    __atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE); /* R3 */
    return item;
}

#endif /* BENCH_RING_H */
