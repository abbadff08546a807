/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * whole_events.c - a thread that asks for a slot by cpool_alloc_or_notify, and sleeps until a
 * notice comes, while an owner takes all slots and frees them.
 *
 * PLAIN    the owner uses cpool_alloc and cpool_free, otherwise the typed pool's functions
 * AGAIN    the owner takes and frees one once more
 * GIVES    the thread that asked frees its slot
 * WAITER   another thread is in cpool_alloc_wait
 * PAIR     two threads free a slot each, which one of them has taken
 *
 * Holds: no notice is lost, and no waiter, which would be a deadlock.
 */
#include <cpool.h>
#include <cpool/wait.h>

#include "pool/pool.h"

enum { CAPACITY = 2 };
#include "items.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t noticed = PTHREAD_COND_INITIALIZER;
static bool is_noticed;

static void ready(cpool_t *of, void *context)
{
    (void)of;
    (void)context;
    pthread_mutex_lock(&lock);
    is_noticed = true;
    pthread_cond_signal(&noticed);
    pthread_mutex_unlock(&lock);
}

static item *obtain(void)
{
    item *one = item_alloc();

    assert(one == NULL || one->holder == 0);
    return one;
}

static void give_back(item *one)
{
    one->holder = 0;
    item_free(one);
}

static void *ask(void *number)
{
    item *one;

    while ((one = cpool_alloc_or_notify(pool)) == NULL) {
        pthread_mutex_lock(&lock);
        while (!is_noticed)
            pthread_cond_wait(&noticed, &lock);
        is_noticed = false;
        pthread_mutex_unlock(&lock);
    }
    assert(one->holder == 0);
    one->holder = (long)(intptr_t)number;
#ifdef GIVES
    give_back(one);
#endif
    return NULL;
}

#ifndef PAIR
static void *own(void *number)
{
    item *mine[CAPACITY];
    item *more;
    int n = 0;

    while (n < CAPACITY && (mine[n] = obtain()) != NULL)
        mine[n++]->holder = (long)(intptr_t)number;
    while (n > 0)
        give_back(mine[--n]);
#ifdef AGAIN
    if ((more = obtain()) != NULL) {
        more->holder = (long)(intptr_t)number;
        give_back(more);
    }
#endif
    (void)more;
    return NULL;
}
#endif

#ifdef PAIR
static item *taken[CAPACITY];

static void *give_first(void *unused)
{
    give_back(taken[0]);
    return unused;
}
#endif

#ifdef WAITER
static void *await(void *number)
{
    item *one = cpool_alloc_wait(pool, NULL);

    assert(one != NULL && one->holder == 0);
    one->holder = (long)(intptr_t)number;
    return NULL;
}
#endif

int main(void)
{
    pthread_t thread[3];
    int n = 0;

    pool = items_pool();
    assert(pool != NULL && cpool_set_ready(pool, ready, NULL) == 0);
    ((struct cpi_pool *)pool->state)->waiters.starving_after = UINT64_MAX / 2;
#ifdef PAIR
    taken[0] = obtain();
    taken[1] = obtain();
#endif
#ifndef PAIR
    pthread_create(&thread[n++], NULL, own, (void *)1);
#endif
    pthread_create(&thread[n++], NULL, ask, (void *)2);
#ifdef WAITER
    pthread_create(&thread[n++], NULL, await, (void *)3);
#endif
#ifdef PAIR
    pthread_create(&thread[n++], NULL, give_first, NULL);
    give_back(taken[1]);
#endif
    while (n > 0)
        pthread_join(thread[--n], NULL);
    return 0;
}
