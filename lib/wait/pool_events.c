/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_events.c - notices for event loops, and the end of waiting.
 *
 * The bell of a pool is a waiter that does not sleep (pool_call.c).  It joins the
 * queue and announces itself as a thread does, and looks as a thread does.  So a slot that
 * is freed after its look calls it.
 */
#include <cpool/events.h>

#include "pool/pool_alloc.h"
#include "pool/pool_report.h"
#include "wait/pool_wait.h"
#include "host/os.h"
#include "cache/mark.h"

/* Returns false after a report that it is not. */
static bool is_waitable(const struct cpi_pool *pool, const char *function)
{
    if (pool != NULL && !cpi_pool_is_waitable(pool))
        cpi_pool_report(CPOOL_EWAITABLE, function, pool);
    return pool != NULL && cpi_pool_is_waitable(pool);
}

int cpool_set_ready(cpool_t *handle, cpool_ready_t ready, void *context)
{
    struct cpi_pool *pool = cpi_pool_of(handle, "cpool_set_ready");

    if (!is_waitable(pool, "cpool_set_ready"))
        return pool != NULL ? CPOOL_EWAITABLE : CPOOL_EPOOL;
    cpi_mutex_lock(&cpi_waiters_of(pool)->lock);
    cpi_waiters_of(pool)->ready = ready;
    cpi_waiters_of(pool)->ready_context = context;
    cpi_mutex_unlock(&cpi_waiters_of(pool)->lock);
    return CPOOL_OK;
}

/* The bell is in the queue, and of slots that are freed from now on it is told. */
static void announce(struct cpi_pool *pool)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);

    cpi_mutex_lock(&waiters->lock);
    if (!waiters->bell_waits)
        cpi_pool_join(pool, &waiters->bell, UINT64_MAX);
    waiters->bell_waits = true;
    waiters->bell_looks++;
    cpi_queue_announce(&waiters->queue, &waiters->bell);
    cpi_mutex_unlock(&waiters->lock);
    cpi_mark_barrier(&pool->registry.barriers);
}

/* After the look.  Where it has found a slot, and no other call needs the bell, the bell leaves
 * before anything can call it: the caller may hold a lock that `ready` takes.  In the child of a
 * fork inside the look nothing is announced any more. */
static void conclude(struct cpi_waiters *waiters, bool found)
{
    cpi_mutex_lock(&waiters->lock);
    if (waiters->bell_looks > 0)
        waiters->bell_looks--;
    if (!found)
        waiters->bell_owed = waiters->bell_waits;
    else if (waiters->bell_waits && !waiters->bell_owed && waiters->bell_looks == 0)
        (void)cpi_pool_take_bell(waiters, false);
    cpi_mutex_unlock(&waiters->lock);
}

/* A slot that is not marked yet. */
static void *obtain(struct cpi_pool *pool, struct cpi_cache *cache)
{
    void *slot = cpi_pool_take(pool, cache);

    if (slot != NULL) {
        cpi_pool_came(pool, cache);
        return slot;
    }
    announce(pool);
    do /* a slot that came beside the look is taken, rather than this thread's bell called */
        slot = cpi_pool_look(pool, NULL, false);
    while (slot != NULL ? cpi_pool_hand_over(pool, slot, NULL)
                        : (cpi_pool_left(pool, NULL) & CPI_LEFT_SLOTS) != 0);
    conclude(cpi_waiters_of(pool), slot != NULL);
    if (slot != NULL)
        cpi_pool_came(pool, NULL); /* others may have missed the slots that it moved */
    return slot;
}

void *cpool_alloc_or_notify(cpool_t *handle)
{
    static const char function[] = "cpool_alloc_or_notify";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    struct cpi_cache *cache;
    void *slot;

    if (!is_waitable(pool, function))
        return NULL;
    cache = cpi_registry_own_cache(&pool->registry);
    do {
        slot = obtain(pool, cache);
    } while (slot != NULL && !cpi_pool_passes(pool, slot, CPI_CALL(function)));
    return slot;
}

size_t cpool_wake_all(cpool_t *handle, bool closed)
{
    struct cpi_pool *pool = cpi_pool_seen(handle, "cpool_wake_all");
    struct cpi_waiter *waiter;
    size_t woken = 0;

    if (!is_waitable(pool, "cpool_wake_all"))
        return 0;
    cpi_mutex_lock(&cpi_waiters_of(pool)->lock);
    cpi_waiters_of(pool)->closed = closed;
    cpi_waiters_of(pool)->dismissals++;
    for (waiter = cpi_waiters_of(pool)->queue.first; waiter != NULL; waiter = waiter->next) {
        if (waiter != &cpi_waiters_of(pool)->bell) {
            cpi_pool_wake(waiter);
            woken++;
        }
    }
    cpi_mutex_unlock(&cpi_waiters_of(pool)->lock);
    return woken;
}
