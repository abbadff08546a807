/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h - a bounded queue from one producer to one consumer, for workloads
 * that hand slots from thread to thread.
 *
 * Includes bench.h only.  The queue is not what is measured, so it must be as cheap as possible.
 * Each end keeps a copy of the other end's counter, and reads the real one only when the copy says
 * full or empty (L. Lamport, "Specifying concurrent program modules", 1983, with less traffic).
 * It publishes its own progress in batches, or when it has to wait (P. Lee, T. Bu, G.
 * Chandranmenon, "A lock-free, cache-efficient multi-core synchronization mechanism for line-rate
 * network traffic monitoring", 2010).  If it published every item, two ends that run in step would
 * stay in step and compete for three lines with every slot: that took up to six times as long as in
 * the same program a moment later, and dominated the measurement. ck_ring reads the other end's
 * counter every time, which costs more than an allocation and would hide the differences.
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

/* Items between two stores of a counter: two lines of cells. */
#define BENCH_RING_BATCH 16u

struct bench_ring {
    void **cells; /* constant */
    size_t mask;  /* constant: cells - 1 */
    char padding0[BENCH_LINE];
    size_t tail;      /* what the producer has published */
    size_t put;       /* what it has put; its own */
    size_t seen_head; /* its copy of head */
    char padding1[BENCH_LINE];
    size_t head;      /* what the consumer has published */
    size_t got;       /* what it has got; its own */
    size_t seen_tail; /* its copy of tail */
    char padding2[BENCH_LINE];
};

/* `room` is a power of two. */
static inline void bench_ring_init(struct bench_ring *ring, size_t room)
{
    ring->cells = (void **)bench_memory(room, sizeof(void *));
    ring->mask = room - 1;
    ring->tail = ring->put = ring->seen_head = 0;
    ring->head = ring->got = ring->seen_tail = 0;
}

/* The producer, or any thread once the producer has stopped. */
static inline void bench_ring_show(struct bench_ring *ring)
{
    __atomic_store_n(&ring->tail, ring->put, __ATOMIC_RELEASE); /* R1 */
}

/* False when it is full. */
static inline bool bench_ring_has_room(struct bench_ring *ring)
{
    if (ring->put - ring->seen_head <= ring->mask)
        return true;
    bench_ring_show(ring);
    ring->seen_head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE); /* R4 */
    return ring->put - ring->seen_head <= ring->mask;
}

/* Only after bench_ring_has_room said true. */
static inline void bench_ring_put(struct bench_ring *ring, void *item)
{
    ring->cells[ring->put & ring->mask] = item;
    if (++ring->put % BENCH_RING_BATCH == 0)
        bench_ring_show(ring);
}

/* NULL when it is empty. */
static inline void *bench_ring_get(struct bench_ring *ring)
{
    void *item;

    if (ring->got == ring->seen_tail) {
        __atomic_store_n(&ring->head, ring->got, __ATOMIC_RELEASE);       /* R3 */
        ring->seen_tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE); /* R2 */
        if (ring->got == ring->seen_tail)
            return NULL;
    }
    item = ring->cells[ring->got & ring->mask];
    if (++ring->got % BENCH_RING_BATCH == 0)
        __atomic_store_n(&ring->head, ring->got, __ATOMIC_RELEASE); /* R3 */
    return item;
}

#endif /* BENCH_RING_H */
