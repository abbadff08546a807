/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_wait.c - sleeping until a slot is free.
 *
 * Floor 6.  The protocol is in queue.h; here are its lock, its sleep and its looks.
 *
 * A slot that is freed goes the ordinary way, so that threads that run can use it
 * while the waiter that was called wakes up; but past the caches if somebody has to be
 * called, so that the waiter finds it without revoking any.  No lock is held while a
 * waiter looks, and no waiter waits for anybody but in its sleep: a thread that is inside
 * the library meanwhile, with slots in hand that the waiter cannot reach, asks afterwards.
 *
 * Eventually it is fair, as Go's mutexes are.  Once the first waiter has waited for
 * the pool's patience, slots that are freed, or found by other waiters, are handed to
 * those that sleep, in the order in which they came; until the first one is younger.
 *
 * ORDERING TABLE
 *   tally | waits fetch-and-add | relaxed | - | -
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "pool_impl.h"

#include <time.h>

#include "atomic.h"
#include "quiet.h"
#include "recall.h"

/* How long a waiter sleeps at a time, nanoseconds, when it has looked in vain although
 * the pool has slots that were never handed out: the system has refused their memory,
 * and nobody tells when it would not any more. */
#define CPI_REFUSED_SLEEP UINT64_C(10000000)

/* How long a waiter naps that was called for nothing, nanoseconds: the first time, and
 * at most, as it is twice as long each time. */
#define CPI_NAP UINT64_C(50000)
#define CPI_LONGEST_NAP UINT64_C(400000)

#define CPI_SECOND UINT64_C(1000000000)
#define CPI_NEVER UINT64_MAX

/* On the waiter's own stack. */
struct sleeper {
    struct cpi_waiter waiter; /* first: what the queue knows */
    pthread_cond_t woken;     /* with the queue's lock */
    uint64_t deadline;        /* CPI_NEVER: none */
    uint32_t vain;            /* the epoch of its last look in vain */
    uint64_t nap;             /* how long its next one is */
    bool slept;               /* it is counted in `waits` */
    bool starves;             /* its patience has ended */
};

void cpi_waiters_init(struct cpi_waiters *waiters)
{
    cpi_queue_init(&waiters->queue);
    atomic_init(&waiters->waits, 0);
    pthread_mutex_init(&waiters->lock, NULL);
    waiters->starving_after = CPI_STARVING_AFTER;
}

void cpi_waiters_fini(struct cpi_waiters *waiters)
{
    pthread_mutex_destroy(&waiters->lock);
}

/* --- Times, in nanoseconds of the monotonic clock --- */

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * CPI_SECOND + (uint64_t)time.tv_nsec;
}

/* Zero, negative, and no time at all: no wait. */
static bool is_positive(const struct timespec *timeout)
{
    return timeout->tv_sec >= 0 && timeout->tv_nsec >= 0 && timeout->tv_nsec < 1000000000L &&
           (timeout->tv_sec > 0 || timeout->tv_nsec > 0);
}

static uint64_t deadline_of(const struct timespec *timeout)
{
    if (timeout == NULL || timeout->tv_sec >= INT32_MAX / 2)
        return CPI_NEVER; /* in 34 years */
    return now() + (uint64_t)timeout->tv_sec * CPI_SECOND + (uint64_t)timeout->tv_nsec;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* --- Threads that give --- */

/* With the lock held. */
static void wake(struct cpi_waiter *waiter)
{
    if (waiter != NULL)
        pthread_cond_signal(&((struct sleeper *)(void *)waiter)->woken);
}

/* With the lock held, after somebody has left the queue. */
static void look_who_starves(struct cpi_queue *queue)
{
    if (cpi_queue_says(queue, CPI_QUEUE_STARVES))
        cpi_queue_starve(queue, now());
}

/* Hands a slot to a waiter that sleeps, if the first one starves and is not the thread
 * that found the slot.  Returns true if it has. */
static bool hand_over(struct cpi_waiters *waiters, void *slot, const struct cpi_waiter *finder)
{
    struct cpi_queue *queue = &waiters->queue;
    struct cpi_waiter *waiter = NULL;

    if (CPI_LIKELY((cpi_queue_glance(queue) & CPI_QUEUE_STARVES) == 0))
        return false;
    pthread_mutex_lock(&waiters->lock);
    if (cpi_queue_says(queue, CPI_QUEUE_STARVES) && queue->first != finder) {
        waiter = cpi_queue_serve(queue, slot);
        look_who_starves(queue);
        wake(waiter);
    }
    pthread_mutex_unlock(&waiters->lock);
    return waiter != NULL;
}

bool cpi_pool_hand_over(cpool_t *pool, void *slot)
{
    return hand_over(&pool->waiters, slot, NULL);
}

bool cpi_pool_has_to_call(const cpool_t *pool)
{
    return (cpi_queue_glance(&pool->waiters.queue) & CPI_QUEUE_ASKS) != 0;
}

/* Whether there may be more slots than were handed out so far. */
static bool may_have_more(const cpool_t *pool)
{
    uint64_t bounds = cpi_slab_bounds(&pool->slab);

    return CPI_BOUNDS_FRESH(bounds) < CPI_BOUNDS_CAPACITY(bounds) ||
           (pool->grows && CPI_BOUNDS_CAPACITY(bounds) < pool->slab.most);
}

/* Whether there may be slots where a waiter has looked in vain before: the caller may
 * have left them, or made room for them. */
static bool has_left_any(const cpool_t *pool, const struct cpi_cache *cache)
{
    return (cache != NULL && cpi_cache_rounds(cache) > 0) ||
           cpi_depot_has_stocked(&pool->depot) || cpi_depot_partial_rounds(&pool->depot) > 0 ||
           may_have_more(pool);
}

static void call(struct cpi_waiters *waiters)
{
    pthread_mutex_lock(&waiters->lock);
    wake(cpi_queue_call(&waiters->queue));
    pthread_mutex_unlock(&waiters->lock);
}

void cpi_pool_call_waiter(cpool_t *pool, const struct cpi_cache *cache)
{
    if (CPI_UNLIKELY(cpi_queue_is_asked(&pool->waiters.queue, cpi_recall_has_barrier())) &&
        has_left_any(pool, cache))
        call(&pool->waiters);
}

void cpi_pool_wake_waiters(cpool_t *pool)
{
    if (pool->waitable)
        cpi_pool_call_waiter(pool, NULL);
}

/* --- Threads that wait --- */

static void join(struct cpi_waiters *waiters, struct sleeper *self)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&self->woken, &attributes);
    pthread_condattr_destroy(&attributes);
    self->vain = 0;
    self->nap = CPI_NAP;
    self->slept = false;
    self->starves = false;
    pthread_mutex_lock(&waiters->lock);
    cpi_queue_join(&waiters->queue, &self->waiter, now() + waiters->starving_after);
    pthread_mutex_unlock(&waiters->lock);
}

/* Whether it is worth looking again, having found nothing: something was made or found
 * now.  A draining thread that is at work calls when it is done. */
static bool is_more(cpool_t *pool, uint32_t seen)
{
    if (cpi_depot_was_drained(&pool->depot, seen))
        return cpi_pool_drains(pool) % 2 == 0;
    return cpi_pool_replenish(pool);
}

/* Looks everywhere; what is freed from now on the waiter is told of. */
static void *look(cpool_t *pool, struct sleeper *self)
{
    struct cpi_waiters *waiters = &pool->waiters;
    uint32_t epoch;
    uint32_t seen;
    void *slot;

    pthread_mutex_lock(&waiters->lock);
    epoch = cpi_queue_announce(&waiters->queue, &self->waiter);
    pthread_mutex_unlock(&waiters->lock);
    cpi_recall_barrier();
    do {
        seen = cpi_pool_drains(pool);
        slot = cpi_pool_take(pool, NULL);
    } while (slot == NULL && is_more(pool, seen));
    if (slot == NULL)
        self->vain = epoch;
    return slot;
}

/* With the lock held: one sleep. */
static void sleep_until(struct cpi_waiters *waiters, struct sleeper *self, uint64_t time)
{
    struct timespec until = {(time_t)(time / CPI_SECOND), (long)(time % CPI_SECOND)};

    cpi_quiet_note(CPI_NOISE_SYSTEM_CALL, 1);
    self->waiter.asleep = true;
    if (time == CPI_NEVER)
        pthread_cond_wait(&self->woken, &waiters->lock);
    else
        pthread_cond_timedwait(&self->woken, &waiters->lock, &until);
    self->waiter.asleep = false;
}

/* Sleeps until the waiter is served, or called, unless it naps, or the time has come.
 * Returns true if it has been called. */
static bool rest(struct cpi_waiters *waiters, struct sleeper *self, uint64_t end, bool naps)
{
    struct cpi_waiter *waiter = &self->waiter;
    uint64_t time;
    bool called;

    if (!self->starves)
        end = earlier(end, waiter->due);
    pthread_mutex_lock(&waiters->lock);
    while (time = now(), called = waiter->epoch != self->vain,
           waiter->slot == NULL && (naps || !called) && time < end)
        sleep_until(waiters, self, end);
    self->starves = time >= waiter->due;
    if (self->starves)
        cpi_queue_starve(&waiters->queue, time);
    pthread_mutex_unlock(&waiters->lock);
    return called;
}

/* After a look in vain: until there is reason to look again. */
static bool sleep_for_long(cpool_t *pool, struct sleeper *self)
{
    uint64_t end = self->deadline;

    if (may_have_more(pool))
        end = earlier(end, now() + CPI_REFUSED_SLEEP);
    if (!self->slept)
        cpi_fetch_add(&pool->waiters.waits, 1u, relaxed); /* [tally] */
    self->slept = true;
    return rest(&pool->waiters, self, end, false);
}

/* After a call for which there was nothing left: the slot went to a thread that runs, and
 * that will do so again.  Nobody need call meanwhile. */
static void nap(cpool_t *pool, struct sleeper *self)
{
    rest(&pool->waiters, self, earlier(self->deadline, now() + self->nap), true);
    self->nap = earlier(2 * self->nap, CPI_LONGEST_NAP);
}

/* A slot that lies where a thread that calls leaves it, or that was handed over. */
static void *find(cpool_t *pool, struct sleeper *self)
{
    void *slot = self->waiter.slot;

    if (slot != NULL)
        return slot;
    slot = cpi_pool_take(pool, NULL);
    return slot != NULL && hand_over(&pool->waiters, slot, &self->waiter) ? NULL : slot;
}

static void *look_and_sleep(cpool_t *pool, struct sleeper *self)
{
    bool called;
    bool last;
    void *slot;

    for (;;) {
        last = now() >= self->deadline;
        slot = look(pool, self);
        if (slot != NULL && hand_over(&pool->waiters, slot, &self->waiter))
            continue;
        if (slot != NULL || last)
            return slot;
        called = sleep_for_long(pool, self);
        slot = find(pool, self);
        if (slot == NULL && called) {
            nap(pool, self);
            slot = find(pool, self);
        }
        if (slot != NULL)
            return slot;
    }
}

static bool is_anything_left(const cpool_t *pool)
{
    size_t i;

    for (i = 0; i < cpi_registry_made(&pool->registry); i++)
        if (cpi_cache_rounds(cpi_registry_cache(&pool->registry, i)) > 0)
            return true;
    return has_left_any(pool, NULL);
}

static void *wait_in_queue(cpool_t *pool, uint64_t deadline)
{
    struct cpi_waiters *waiters = &pool->waiters;
    struct sleeper self;
    bool pass_on;
    void *slot;

    self.deadline = deadline;
    join(waiters, &self);
    slot = look_and_sleep(pool, &self);
    pthread_mutex_lock(&waiters->lock);
    pass_on = cpi_queue_leave(&waiters->queue, &self.waiter, self.vain);
    look_who_starves(&waiters->queue);
    pthread_mutex_unlock(&waiters->lock);
    pthread_cond_destroy(&self.woken);
    if (!pass_on) {
        cpi_pool_call_waiter(pool, NULL); /* what its looks moved others may have missed */
        return slot;
    }
    cpi_recall_barrier();
    if (is_anything_left(pool))
        call(waiters);
    return slot;
}

void *cpool_alloc_wait(cpool_t *pool, const struct timespec *timeout)
{
    static const char function[] = "cpool_alloc_wait";
    struct cpi_cache *cache;
    void *slot;
    int cancel;

    if (!cpi_pool_is_ours(pool, function))
        return NULL;
    if (!pool->waitable) {
        cpi_pool_report(CPOOL_EWAITABLE, function, pool);
        return NULL;
    }
    cache = cpi_registry_own_cache(&pool->registry);
    if (timeout != NULL && !is_positive(timeout))
        return cpi_pool_alloc(pool, cache, function, CPI_CALLER());
    slot = cpi_pool_take(pool, cache);
    if (slot != NULL) {
        cpi_pool_call_waiter(pool, cache);
    } else {
        /* A thread must not be cancelled with its place in the queue on its stack. */
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
        slot = wait_in_queue(pool, deadline_of(timeout));
        pthread_setcancelstate(cancel, NULL);
    }
    if (slot != NULL && pool->checked)
        cpi_pool_guard_alloc(pool, slot, function, CPI_CALLER());
    cpi_quiet_report(function);
    return slot;
}

void *cpool_alloc_or_help(cpool_t *pool, bool (*help)(void *arg), void *arg)
{
    static const char function[] = "cpool_alloc_or_help";
    struct cpi_cache *cache;
    void *slot;

    if (!cpi_pool_is_ours(pool, function))
        return NULL;
    cache = cpi_registry_own_cache(&pool->registry);
    do {
        slot = cpi_pool_alloc(pool, cache, function, CPI_CALLER());
        if (slot != NULL)
            return slot;
    } while (help(arg));
    return cpi_pool_alloc(pool, cache, function, CPI_CALLER());
}
