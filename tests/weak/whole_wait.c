/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * whole_wait.c - threads in cpool_alloc_wait, while an owner frees and allocates.
 *
 * PLAIN    the owner uses cpool_alloc and cpool_free, otherwise the typed pool's functions
 * LEAVES   the owner ends with an alloc that leaves a round in its magazine
 * FREES    the owner ends with its frees
 * WAITERS  how many wait
 * THIEF    another thread allocates past all caches
 * STARVES  waiters are handed slots once their patience has ended
 *
 * Holds: every waiter obtains a slot, or nobody runs any more, which is a deadlock.  Each slot has
 * one holder, and the next one sees what the last one wrote.
 */
#include <cpool.h>
#include <cpool/wait.h>

#include "pool/pool.h"

#ifndef WAITERS
#define WAITERS 1
#endif

#ifdef LEAVES
enum { CAPACITY = 3 };
#else
enum { CAPACITY = 2 };
#endif

#include "items.h"

static void hold(item *one, long holder)
{
    assert(one->holder == 0);
    one->holder = holder;
    one->uses++;
}

static void give(item *one, long holder)
{
    assert(one->holder == holder);
    one->holder = 0;
    item_free(one);
}

static void *own(void *number)
{
    item *mine[CAPACITY];
    item *more;
    long self = (long)(intptr_t)number;
    int n = 0;

    while (n < CAPACITY && (mine[n] = item_alloc()) != NULL)
        hold(mine[n++], self);
#ifndef FREES
    if (n > 0)
        give(mine[--n], self);
#ifdef LEAVES
    if (n > 0)
        give(mine[--n], self);
#endif
    if ((more = item_alloc()) != NULL)
        hold(more, self);
#ifdef LEAVES
    return NULL;
#endif
    if (more != NULL)
        give(more, self);
#endif
    (void)more;
    while (n > 0)
        give(mine[--n], self);
    return NULL;
}

/* With several waiters each one's slot has to come back. */
static void *await(void *number)
{
    item *one = cpool_alloc_wait(pool, NULL);
    long self = (long)(intptr_t)number;

    assert(one != NULL);
    hold(one, self);
#if WAITERS > 1 && !defined(FREES)
    give(one, self);
#else
    one->holder = 0;
#endif
    return NULL;
}

#ifdef THIEF
static void *steal(void *number)
{
    item *one = cpool_alloc_uncached(pool);
    long self = (long)(intptr_t)number;

    if (one != NULL) {
        hold(one, self);
        give(one, self);
    }
    return NULL;
}
#endif

int main(void)
{
    pthread_t thread[2 + WAITERS];
    intptr_t n = 0;

    pool = items_pool();
    assert(pool != NULL);
#ifndef STARVES
    ((struct cpi_pool *)pool->state)->waiters.starving_after = UINT64_MAX / 2;
#endif
    pthread_create(&thread[n], NULL, own, (void *)(n + 1));
    for (n++; n <= WAITERS; n++)
        pthread_create(&thread[n], NULL, await, (void *)(n + 1));
#ifdef THIEF
    pthread_create(&thread[n], NULL, steal, (void *)(n + 1));
    n++;
#endif
    while (n > 0)
        pthread_join(thread[--n], NULL);
    return 0;
}
