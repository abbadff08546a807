/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * whole_exact.c - threads that allocate and free in a pool with a slot for each of them.
 *
 * PLAIN    they use cpool_alloc and cpool_free, otherwise the typed pool's functions
 * DEPOT    the first one goes past its cache
 * CACHE    the first one uses a cache of its own
 * FLUSHES  the first one flushes its cache while it has a slot, TRIMS: trims the pool
 * HELD     how many slots each holds at once
 *
 * Holds: empty means empty (doc/CONCURRENCY.md 3.6), so that no alloc returns NULL, unless the
 * system refuses a barrier (WHOLE_REFUSES).
 */
#include <cpool.h>
#include <cpool/cache.h>
#include <cpool/memory.h>

#ifndef HELD
#define HELD 1
#endif

enum { THREADS = 2, TURNS = 2, FIRST = 1, CAPACITY = THREADS * HELD };
#include "items.h"

static item *obtain(long self, cpool_cache_t *cache)
{
    (void)self;
#ifdef DEPOT
    if (self == FIRST)
        return cpool_alloc_uncached(pool);
#endif
    if (cache != NULL)
        return cpool_cache_alloc(cache);
    return item_alloc();
}

static void give_back(item *one, long self, cpool_cache_t *cache)
{
    (void)self;
#ifdef DEPOT
    if (self == FIRST) {
        cpool_free_uncached(pool, one);
        return;
    }
#endif
    if (cache != NULL) {
        cpool_cache_free(cache, one);
        return;
    }
    item_free(one);
}

static void disturb(long self)
{
    (void)self;
#ifdef FLUSHES
    if (self == FIRST)
        cpool_flush(pool);
#endif
#ifdef TRIMS
    if (self == FIRST)
        (void)cpool_trim(pool);
#endif
}

static void *work(void *number)
{
    long self = (long)(intptr_t)number;
    cpool_cache_t *cache = NULL;
    item *mine[HELD];

#ifdef CACHE
    if (self == FIRST)
        assert(cpool_cache_create(&cache, pool) == 0);
#endif
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < HELD; i++) {
            mine[i] = obtain(self, cache);
#ifdef WHOLE_REFUSES
            if (mine[i] == NULL)
                continue;
#endif
            assert(mine[i] != NULL);
            assert(mine[i]->holder == 0);
            mine[i]->holder = self;
        }
        disturb(self);
        for (int i = 0; i < HELD; i++) {
            if (mine[i] == NULL)
                continue;
            assert(mine[i]->holder == self);
            mine[i]->holder = 0;
            give_back(mine[i], self, cache);
        }
    }
    if (cache != NULL)
        cpool_cache_destroy(cache);
    whole_end_thread();
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    int count = 0;

    pool = items_pool();
    assert(pool != NULL);
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    while (cpool_alloc(pool) != NULL)
        count++;
    assert(count == CAPACITY);
    return 0;
}
