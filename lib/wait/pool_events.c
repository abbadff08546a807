/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_events.c - notices for event loops, and the end of waiting.
 *
 * Floor 6.  The bell of a pool is a waiter that does not sleep (pool_call.c).  It joins the
 * queue and announces itself as a thread does, and looks as a thread does.  So a slot that
 * is freed after its look calls it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <cpool/events.h>

#include "pool_impl.h"
#include "pool_wait.h"

#include "os.h"
#include "quiet.h"
#include "recall.h"

static struct cpi_pool *waitable(cpool_t *handle, const char *function)
{
    struct cpi_pool *pool = cpi_pool_of(handle, function);

    if (pool != NULL && !pool->waitable) {
        cpi_pool_report(CPOOL_EWAITABLE, function, pool);
        return NULL;
    }
    return pool;
}

/* The code for the caller after `waitable` has reported. */
static int refusal(const cpool_t *handle)
{
    return cpi_handle_is_alive(handle) ? CPOOL_EWAITABLE : CPOOL_EPOOL;
}

int cpool_set_ready(cpool_t *handle, cpool_ready_t ready, void *context)
{
    struct cpi_pool *pool = waitable(handle, "cpool_set_ready");

    if (pool == NULL)
        return refusal(handle);
    pthread_mutex_lock(&pool->waiters.lock);
    pool->waiters.ready = ready;
    pool->waiters.ready_context = context;
    pthread_mutex_unlock(&pool->waiters.lock);
    return CPOOL_OK;
}

void cpool_notify_fd(cpool_t *pool, void *fd)
{
    int cancel;

    (void)pool;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    cpi_os_notify(*(const int *)fd);
    pthread_setcancelstate(cancel, NULL);
}

/* The bell is in the queue, and of slots that are freed from now on it is told. */
static void announce(struct cpi_waiters *waiters)
{
    pthread_mutex_lock(&waiters->lock);
    if (!waiters->bell_waits)
        cpi_queue_join(&waiters->queue, &waiters->bell, UINT64_MAX);
    waiters->bell_waits = true;
    cpi_queue_announce(&waiters->queue, &waiters->bell);
    pthread_mutex_unlock(&waiters->lock);
    cpi_recall_barrier();
}

/* A slot that is not marked yet. */
static void *obtain(struct cpi_pool *pool, struct cpi_cache *cache)
{
    void *slot = cpi_pool_take(pool, cache);

    if (slot != NULL) {
        cpi_pool_call_waiter(pool, cache);
        return slot;
    }
    announce(&pool->waiters);
    do {
        slot = cpi_pool_look(pool, NULL, false);
    } while (slot != NULL && cpi_pool_hand_over(pool, slot, NULL));
    cpi_pool_call_after_alloc(pool, NULL, NULL); /* others may have missed the slots that it
                                                    moved */
    return slot;
}

void *cpool_alloc_or_notify(cpool_t *handle)
{
    static const char function[] = "cpool_alloc_or_notify";
    struct cpi_pool *pool = waitable(handle, function);
    struct cpi_cache *cache;
    void *slot;

    if (pool == NULL)
        return NULL;
    cache = cpi_registry_own_cache(&pool->registry);
    do {
        slot = obtain(pool, cache);
    } while (slot != NULL && pool->marks &&
             !cpi_pool_mark_taken(pool, &slot, function, CPI_CALLER()));
    cpi_quiet_report(function);
    return slot;
}

size_t cpool_wake_all(cpool_t *handle)
{
    struct cpi_pool *pool = waitable(handle, "cpool_wake_all");
    struct cpi_waiter *waiter;
    size_t woken = 0;

    if (pool == NULL)
        return 0;
    pthread_mutex_lock(&pool->waiters.lock);
    pool->waiters.closed = true;
    pool->waiters.dismissals++;
    for (waiter = pool->waiters.queue.first; waiter != NULL; waiter = waiter->next) {
        if (waiter != &pool->waiters.bell) {
            cpi_pool_wake(waiter);
            woken++;
        }
    }
    pthread_mutex_unlock(&pool->waiters.lock);
    return woken;
}

int cpool_wait_again(cpool_t *handle)
{
    struct cpi_pool *pool = waitable(handle, "cpool_wait_again");

    if (pool == NULL)
        return refusal(handle);
    pthread_mutex_lock(&pool->waiters.lock);
    pool->waiters.closed = false;
    pthread_mutex_unlock(&pool->waiters.lock);
    return CPOOL_OK;
}
