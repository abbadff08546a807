/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait.c - an alloc that waits for a slot, and one that asks for a notice.
 *
 * wait/queue.h has the protocol, wait/waiters.c the sleep.  This file has the waiter's search,
 * which holds no lock, and waits for no owner that is inside (doc/CONCURRENCY.md 7.1).
 *
 * ORDERING TABLE
 *   due   | countdown store | relaxed | - | -
 *   press | words of pressure, store with the lock held | relaxed | - | -
 */
#include "pool/alloc.h"

#include "base/atomic.h"

/* Searches everywhere.  The waiter will be told of slots that are freed from now on. */
static void *look_as_waiter(struct cpi_pool *pool, struct cpi_sleeper *self)
{
    struct cpi_waiters *waiters = &pool->waiters;
    uint32_t epoch;
    void *slot;

    cpi_mutex_lock(&waiters->lock);
    epoch = cpi_queue_announce(&waiters->queue, &self->waiter);
    self->last = cpi_sleeper_is_dismissed(waiters, self) || cpi_os_now() >= self->deadline;
    cpi_mutex_unlock(&waiters->lock);
    if (cpi_reclaim_all(&pool->registry, NULL, true))
        self->alone_nap = 0;
    else
        self->alone_nap =
            self->alone_nap != 0 ? cpi_earlier(2 * self->alone_nap, CPI_UNTOLD_SLEEP) : CPI_NAP;
    while ((slot = cpi_pool_look(pool, true)) != NULL)
        if (cpi_sleeper_keep(waiters, self, slot) != NULL)
            return slot;
    self->vain = epoch;
    return NULL;
}

/* The search may call a function of the program that forks.  In the child nobody is in the
 * queue. */
static void *wait_in_queue(struct cpi_pool *pool, struct cpi_sleeper *self)
{
    unsigned begun = cpi_reclaim_begin(&pool->registry);
    bool pass_on;
    void *slot;

    cpi_sleeper_join(&pool->waiters, self);
    do {
        slot = look_as_waiter(pool, self);
        self->last = self->last || begun != pool->registry.forks;
        if (slot == NULL && !self->last)
            slot = cpi_sleeper_sleep(&pool->waiters, self);
    } while (slot == NULL && !self->last);
    pass_on = begun == pool->registry.forks && cpi_sleeper_leave(&pool->waiters, self);
    cpi_condition_destroy(&self->woken);
    cpi_reclaim_end(&pool->registry, begun);
    if (pass_on)
        (void)cpi_barrier(&pool->registry);
    if (pass_on && cpi_reclaim_has_any(&pool->registry))
        cpi_waiters_call(&pool->waiters);
    else if (!pass_on &&
             (slot != NULL || (cpi_reclaim_left(&pool->registry) & CPI_LEFT_SLOTS) != 0))
        cpi_waiters_came(&pool->waiters); /* others may have missed slots that its searches moved */
    return slot;
}

/* Sets *slot to a slot on which cpi_pool_passes comes next, or to NULL.  Returns false if the
 * thread cannot wait. */
static bool obtain_waiting(struct cpi_pool *pool, struct cpi_cache *cache, uint64_t deadline,
                           void **slot)
{
    struct cpi_sleeper self;
    int cancel;

    *slot = cpi_pool_try(pool, cache);
    if (*slot != NULL) {
        cpi_waiters_came(&pool->waiters);
        return true;
    }
    if (!cpi_sleeper_init(&self, deadline))
        return false;
    /* A cancelled thread would leave the queue with a pointer to its stack. */
    cpi_cancel_hold(&cancel);
    *slot = wait_in_queue(pool, &self);
    cpi_cancel_restore(cancel);
    return true;
}

void *cpool_alloc_wait(cpool_t *handle, const struct timespec *timeout)
{
    static const char function[] = "cpool_alloc_wait";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    struct cpi_cache *cache;
    uint64_t deadline;
    void *slot;

    if (pool == NULL)
        return NULL;
    deadline = cpi_os_deadline(timeout);
    cache = cpi_registry_own_cache(&pool->registry);
    do {
        if (deadline == 0 || !obtain_waiting(pool, cache, deadline, &slot))
            return cpi_pool_alloc(pool, cache, CPI_CALL(function));
    } while (slot != NULL && !cpi_pool_hand(pool, cache, &slot, 0, CPI_CALL(function)));
    if (slot == NULL)
        cpi_pool_note_failure(pool);
    return slot;
}

/* --- Notices for event loops, and the end of waiting --- */

int cpool_set_ready(cpool_t *handle, cpool_ready_t ready, void *arg)
{
    struct cpi_pool *pool = cpi_pool_of(handle, "cpool_set_ready");

    if (pool == NULL)
        return CPOOL_EPOOL;
    cpi_mutex_lock(&pool->waiters.lock);
    pool->waiters.ready = ready;
    pool->waiters.ready_arg = arg;
    cpi_mutex_unlock(&pool->waiters.lock);
    return CPOOL_OK;
}

/* Returns a slot on which cpi_pool_passes comes next, or NULL.  The search waits for owners that
 * are inside, however long, because the bell cannot nap (doc/CONCURRENCY.md 7.1). */
static void *obtain_or_ask(struct cpi_pool *pool, struct cpi_cache *cache)
{
    struct cpi_backoff backoff = {UINT64_MAX / 2, 0, 0};
    void *slot = cpi_pool_try(pool, cache);
    unsigned begun;

    /* A client that gives back slots calls waiters.  During the search below, that would be this
     * call's own bell. */
    while (slot == NULL && cpi_client_give_back(pool, false) != 0)
        slot = cpi_pool_take(pool, cache);
    if (slot != NULL) {
        cpi_waiters_came(&pool->waiters);
        return slot;
    }
    begun = cpi_reclaim_begin(&pool->registry); /* the bell may be called, and leave, meanwhile */
    do {
        cpi_notice_announce(&pool->waiters);
        do { /* takes a slot that comes during the search, rather than calling this thread's bell */
            (void)cpi_reclaim_all(&pool->registry, &backoff, true);
            slot = cpi_pool_look(pool, false);
        } while (slot != NULL ? cpi_waiters_hand_over(&pool->waiters, slot, NULL)
                              : (cpi_reclaim_left(&pool->registry) & CPI_LEFT_SLOTS) != 0);
    } while (!cpi_notice_conclude(&pool->waiters, slot != NULL));
    cpi_reclaim_end(&pool->registry, begun);
    if (slot != NULL)
        cpi_waiters_came(&pool->waiters); /* others may have missed the slots that it moved */
    return slot;
}

void *cpool_alloc_or_notify(cpool_t *handle)
{
    static const char function[] = "cpool_alloc_or_notify";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    struct cpi_cache *cache;
    void *slot;

    if (pool == NULL)
        return NULL;
    cache = cpi_registry_own_cache(&pool->registry);
    do {
        slot = obtain_or_ask(pool, cache);
    } while (slot != NULL && !cpi_pool_hand(pool, cache, &slot, 0, CPI_CALL(function)));
    if (slot == NULL)
        cpi_pool_note_failure(pool);
    return slot;
}

cpool_pressure_t cpool_set_pressure(cpool_t *handle, cpool_pressure_t pressure)
{
    static const cpool_pressure_t none = {0, NULL, NULL};
    struct cpi_pool *pool = cpi_pool_of(handle, "cpool_set_pressure");
    cpool_pressure_t before;
    bool locked;

    if (pool == NULL)
        return none;
    locked = cpi_lock_unless_held();
    before = pool->pressure;
    pool->pressure = pressure.slots != 0 && pressure.reached != NULL ? pressure : none;
    cpi_store(&pool->pressure_slots, pool->pressure.slots, relaxed); /* [press] */
    cpi_store(&pool->pressure_armed, true, relaxed); /* [press] */
    pool->registry.counts_at_once = pool->pressure.slots != 0; /* for caches to come */
    for (size_t i = 0; i < cpi_registry_made(&pool->registry); i++)
        cpi_store(&cpi_registry_cache(&pool->registry, i)->countdown, 1u, relaxed); /* [due] */
    cpi_unlock_if(locked);
    return before;
}

static size_t end_waits(cpool_t *handle, bool close, const char *function)
{
    struct cpi_pool *pool = cpi_pool_seen(handle, function);

    return pool != NULL ? cpi_waiters_dismiss(&pool->waiters, close) : 0;
}

size_t cpool_wait_close(cpool_t *handle)
{
    return end_waits(handle, true, "cpool_wait_close");
}

size_t cpool_wait_cancel(cpool_t *handle)
{
    return end_waits(handle, false, "cpool_wait_cancel");
}

void cpool_wait_open(cpool_t *handle)
{
    struct cpi_pool *pool = cpi_pool_seen(handle, "cpool_wait_open");

    if (pool == NULL)
        return;
    cpi_mutex_lock(&pool->waiters.lock);
    pool->waiters.closed = false;
    cpi_mutex_unlock(&pool->waiters.lock);
}
