/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst.h - one thread's part of a recorded history.
 *
 * Includes history.h and the public header.
 *
 * A worker calls the library in every way that a shape's letters name, at random,
 * and writes down each call and return:
 *   a z c  cpool_alloc, cpool_calloc, cpool_cache_alloc through an explicit cache
 *   A w    cpool_depot_alloc, cpool_alloc_wait
 *   b      cpool_alloc_bulk
 *   f C F  cpool_free, cpool_cache_free, cpool_depot_free
 *   d l    cpool_free_bulk, cpool_flush
 *   x      exchanges a slot for what lies in the mailbox: so others free it
 */
#ifndef LINEAR_BURST_H
#define LINEAR_BURST_H

#include <stdint.h>

#include <cpool.h>

#include "history.h"

/* The most slots that a worker holds.  Above half of it, it rather frees. */
#define BURST_HOLD_MAX 12

struct worker {
    cpool_t *pool;
    cpool_cache_t *cache; /* an explicit one, made when first used */
    _Atomic(void *) *mailbox;
    unsigned number;
    const char *letters;
    uint64_t generator;
    void *held[BURST_HOLD_MAX];
    unsigned holds;
    struct history history;
};

/* Before a worker is used on another pool. */
void burst_prepare(struct worker *worker, cpool_t *pool, const char *letters,
                   uint64_t seed);

void burst_run(struct worker *worker, unsigned operations);

/* Allocates until there is nothing more and returns how many. */
unsigned burst_drain(struct worker *worker);

#endif /* LINEAR_BURST_H */
