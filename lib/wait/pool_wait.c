/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_wait.c - sleeping until a slot is free, or asking for a notice.
 *
 * The protocol is in queue.h.  Here are a waiter's sleep and its looks, and in
 * call.c the calls.
 *
 * While anybody waits, all entries of the pool are closed (cache.h), so each free comes out of
 * line, goes to the depot, and meets the queue's word.  Running threads can use the slot while the
 * called waiter wakes up.  No lock is held while a waiter looks.
 *
 * A waiter does not wait for an owner that is inside.  If it has left one alone it naps, and looks
 * again: that owner may leave a slot behind by the inline path, which calls nobody.
 *
 * Waiting is fair in the long run, as Go's mutexes are.  Once the first waiter has waited for
 * `starving_after`, slots that are freed, or found by other waiters, are handed to sleeping
 * waiters in the order of their arrival, until the first one is younger.
 *
 * ORDERING TABLE
 *   tally | waits fetch-and-add | relaxed | - | -
 *   hint  | the queue's word load | relaxed | - | -
 *   late  | delayed load, with the lock held | relaxed | - | -
 */
#include "base/compiler.h"
#include "pool/feature.h"
#include "pool/alloc.h"
#include "pool/report.h"
#include "wait/pool_wait.h"

#include "base/atomic.h"
#include "host/os.h"
#include "process/thread.h"
#include "base/tools.h"

/* Nanoseconds that a waiter sleeps at a time where nobody tells it when to look again: it has
 * looked in vain although the pool has fresh slots, because the system has refused their memory,
 * or slots are retired, and the end of the section that holds them back calls nobody. */
#define CPI_UNTOLD_SLEEP UINT64_C(10000000)

/* How often a waiter that looked in vain gives way before it sleeps. */
#ifndef CPI_LINGER /* an explorer wants few */
#define CPI_LINGER 8u
#endif

/* Nanoseconds that a waiter naps after a call in vain: the first time, and at most. */
#define CPI_NAP UINT64_C(50000)
#define CPI_LONGEST_NAP UINT64_C(400000)

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* With the lock held: whether cpool_wake_all says that this waiter is not to wait. */
static bool is_dismissed(const struct cpi_waiters *waiters, const struct cpi_sleeper *self)
{
    return waiters->closed || waiters->dismissals != self->dismissals;
}

/* A waiter that starves hands a slot that it found to one that came earlier. */
static void *keep(struct cpi_pool *pool, const struct cpi_sleeper *self, void *slot)
{
    return slot != NULL && cpi_pool_hand_over(pool, slot, &self->waiter) ? NULL : slot;
}

/* Looks everywhere.  Of slots that are freed from now on the waiter is told. */
static void *look(struct cpi_pool *pool, struct cpi_sleeper *self)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);
    uint32_t epoch;
    void *slot;

    cpi_mutex_lock(&waiters->lock);
    epoch = cpi_queue_announce(&waiters->queue, &self->waiter);
    self->last = is_dismissed(waiters, self) || cpi_os_now() >= self->deadline;
    cpi_mutex_unlock(&waiters->lock);
    if (cpi_reclaim_all(&pool->registry, NULL, true))
        self->alone_nap = 0;
    else
        self->alone_nap = self->alone_nap != 0 ? earlier(2 * self->alone_nap, CPI_UNTOLD_SLEEP)
                                               : CPI_NAP;
    while ((slot = cpi_pool_look(pool, true)) != NULL)
        if (keep(pool, self, slot) != NULL)
            return slot;
    self->vain = epoch;
    return NULL;
}

/* With the lock held: one sleep, until a signal or a time of the monotonic clock. */
static void sleep_until(const struct cpi_pool *pool, struct cpi_sleeper *self, uint64_t time)
{
    CPI_ASSERT(self->waiter.slot == NULL && !self->waiter.asleep);
    if (!self->slept) {
        cpi_fetch_add(&cpi_waiters_of(pool)->waits, 1u, relaxed); /* [tally] */
        self->slept = true;
        CPI_PROBE2(wait, pool->handle, self->deadline);
    }
    self->waiter.asleep = true;
    cpi_condition_wait(&self->woken, &cpi_waiters_of(pool)->lock, time);
    self->waiter.asleep = false;
}

/* Sleeps until the waiter is served, or called, unless it naps, or the time has come, or
 * it starves: the waiter that was called may be held up.  Then returns a slot that was
 * handed over, or lies where a thread that calls leaves it. */
static void *rest(struct cpi_pool *pool, struct cpi_sleeper *self, uint64_t end, bool naps)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);
    const struct cpi_waiter *waiter = &self->waiter;
    uint64_t now = cpi_os_now();
    uint64_t untold = now + CPI_UNTOLD_SLEEP;

    if (now < waiter->due)
        end = earlier(end, waiter->due);
    cpi_mutex_lock(&waiters->lock);
    for (;; now = cpi_os_now()) {
        if (now >= waiter->due)
            cpi_queue_starve(&waiters->queue, now);
        if (cpi_load(&waiters->delayed, relaxed)) /* [late] */
            end = earlier(end, untold);
        if (waiter->slot != NULL || now >= end || is_dismissed(waiters, self) ||
            (!naps && waiter->epoch != self->vain))
            break;
        sleep_until(pool, self, end);
    }
    self->epoch = waiter->epoch;
    cpi_mutex_unlock(&waiters->lock);
    return waiter->slot != NULL ? waiter->slot : keep(pool, self, cpi_pool_take(pool, NULL));
}

/* Slots that soon come cost neither the waiter nor the thread that calls it a system call.  A
 * waiter that starves is to sleep, because slots are handed to those that do. */
static void linger(const struct cpi_pool *pool, const struct cpi_sleeper *self)
{
    const struct cpi_queue *queue = &cpi_waiters_of(pool)->queue;
    uint64_t end = earlier(self->waiter.due, self->deadline);
    unsigned times = 0;

    while ((cpi_load(&queue->word, relaxed) & CPI_QUEUE_ASKS) != 0 && /* [hint] */
           times < CPI_LINGER && cpi_os_now() < end)
        cpi_os_back_off(times++);
}

/* After a look in vain: until there is reason to look again.  After a call in vain the
 * slot went to a running thread, which will do so again, and the waiter naps. */
static void *sleep_for_long(struct cpi_pool *pool, struct cpi_sleeper *self)
{
    uint64_t end = self->deadline;
    void *slot;

    linger(pool, self);
    if (self->alone_nap != 0)
        end = earlier(end, cpi_os_now() + self->alone_nap);
    else if ((cpi_pool_left(pool) & CPI_LEFT_MORE) != 0)
        end = earlier(end, cpi_os_now() + CPI_UNTOLD_SLEEP);
    slot = rest(pool, self, end, false);
    if (slot == NULL && self->epoch != self->vain) {
        slot = rest(pool, self, earlier(self->deadline, cpi_os_now() + self->nap), true);
        self->nap = earlier(2 * self->nap, CPI_LONGEST_NAP);
    }
    return slot;
}

/* Returns false if the system refuses what a sleep takes. */
static bool make_sleeper(struct cpi_sleeper *self, uint64_t deadline)
{
    if (!cpi_condition_init(&self->woken))
        return false;
    self->deadline = deadline;
    self->nap = CPI_NAP;
    self->slept = false;
    self->alone_nap = 0;
    self->vain = 0;
    return true;
}

static void join(struct cpi_pool *pool, struct cpi_sleeper *self)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);

    cpi_mutex_lock(&waiters->lock);
    self->dismissals = waiters->dismissals;
    cpi_queue_join(&waiters->queue, &self->waiter, cpi_os_now() + waiters->starving_after);
    cpi_mutex_unlock(&waiters->lock);
}

/* Returns whether the call is to be passed on to others. */
static bool leave(struct cpi_pool *pool, const struct cpi_sleeper *self)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);
    bool pass_on;

    cpi_mutex_lock(&waiters->lock);
    pass_on = cpi_queue_leave(&waiters->queue, &self->waiter, self->vain);
    cpi_queue_starve(&waiters->queue, cpi_os_now());
    cpi_mutex_unlock(&waiters->lock);
    return pass_on;
}

/* A look may call a function of the program's that forks: in the child nobody is in the queue. */
static void *wait_in_queue(struct cpi_pool *pool, struct cpi_sleeper *self)
{
    unsigned begun = cpi_reclaim_begin(&pool->registry);
    bool pass_on;
    void *slot;

    join(pool, self);
    do {
        slot = look(pool, self);
        self->last = self->last || begun != pool->registry.forks;
        if (slot == NULL && !self->last)
            slot = sleep_for_long(pool, self);
    } while (slot == NULL && !self->last);
    pass_on = begun == pool->registry.forks && leave(pool, self);
    cpi_condition_destroy(&self->woken);
    cpi_reclaim_end(&pool->registry, begun);
    if (pass_on)
        (void)cpi_barrier(&pool->registry);
    if (pass_on && cpi_pool_has_any(pool))
        cpi_pool_call(pool);
    else if (!pass_on && (slot != NULL || (cpi_pool_left(pool) & CPI_LEFT_SLOTS) != 0))
        cpi_pool_came(pool); /* others may have missed the slots that its looks moved */
    return slot;
}

/* A slot that is not marked yet, or NULL.  Returns false if the thread cannot wait. */
static bool obtain_by(struct cpi_pool *pool, struct cpi_cache *cache, uint64_t deadline,
                      void **slot)
{
    struct cpi_sleeper self;
    int cancel;

    *slot = cpi_pool_take(pool, cache);
    if (*slot != NULL) {
        cpi_pool_came(pool);
        return true;
    }
    if (!make_sleeper(&self, deadline))
        return false;
    /* A thread must not be cancelled with its place in the queue on its stack. */
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
        if (deadline == 0 || !obtain_by(pool, cache, deadline, &slot))
            return cpi_pool_alloc(pool, cache, CPI_CALL(function));
    } while (slot != NULL && !cpi_pool_passes(pool, slot, CPI_CALL(function)));
    return slot;
}

/* --- Notices for event loops, and the end of waiting ---
 *
 * The bell of a pool is a waiter that does not sleep: called, it leaves at once instead of looking
 * (cpi_pool_call).  It joins the queue and announces itself as a thread does, and looks as a thread
 * does.  So a slot that is freed after its look calls it. */

int cpool_set_ready(cpool_t *handle, cpool_ready_t ready, void *context)
{
    struct cpi_pool *pool = cpi_pool_of(handle, "cpool_set_ready");

    if (pool == NULL)
        return CPOOL_EPOOL;
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
    if (!waiters->bell_waits) {
        waiters->bell_begun = cpi_reclaim_begin(&pool->registry);
        cpi_queue_join(&waiters->queue, &waiters->bell, UINT64_MAX);
    }
    waiters->bell_waits = true;
    waiters->bell_looks++;
    cpi_queue_announce(&waiters->queue, &waiters->bell);
    cpi_mutex_unlock(&waiters->lock);
}

/* After the look.  Where it has found a slot, and no other call needs the bell, the bell leaves
 * before anything can call it: the caller may hold a lock that `ready` takes.  In the child of a
 * fork inside the look nothing is announced any more.  Returns false if the caller has no slot and
 * is to be told of none, because the bell was called since, and another has what it was called
 * for. */
static bool conclude(struct cpi_pool *pool, bool found)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);
    bool done;

    cpi_mutex_lock(&waiters->lock);
    if (waiters->bell_looks > 0)
        waiters->bell_looks--;
    if (!found)
        waiters->bell_owed = waiters->bell_waits;
    else if (waiters->bell_waits && !waiters->bell_owed && waiters->bell_looks == 0)
        (void)cpi_pool_take_bell(pool, false);
    done = found || waiters->bell_waits;
    cpi_mutex_unlock(&waiters->lock);
    return done;
}

/* A slot that is not marked yet.  The look waits for an owner that is inside, however long that
 * has been stopped: it may leave a slot behind by the inline path, which calls nobody, and the bell
 * does not nap. */
static void *obtain_or_ask(struct cpi_pool *pool, struct cpi_cache *cache)
{
    struct cpi_backoff backoff = {UINT64_MAX / 2, 0, 0};
    void *slot = cpi_pool_take(pool, cache);
    unsigned begun;

    /* Slots that come back here call somebody, which inside the look would be this call's bell. */
    while (slot == NULL && cpi_client_dry(pool))
        slot = cpi_pool_take(pool, cache);
    if (slot != NULL) {
        cpi_pool_came(pool);
        return slot;
    }
    begun = cpi_reclaim_begin(&pool->registry); /* the bell may be called, and leave, meanwhile */
    do {
        announce(pool);
        do { /* a slot that came beside the look is taken, rather than this thread's bell called */
            (void)cpi_reclaim_all(&pool->registry, &backoff, true);
            slot = cpi_pool_look(pool, false);
        } while (slot != NULL ? cpi_pool_hand_over(pool, slot, NULL)
                              : (cpi_pool_left(pool) & CPI_LEFT_SLOTS) != 0);
    } while (!conclude(pool, slot != NULL));
    cpi_reclaim_end(&pool->registry, begun);
    if (slot != NULL)
        cpi_pool_came(pool); /* others may have missed the slots that it moved */
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
    } while (slot != NULL && !cpi_pool_passes(pool, slot, CPI_CALL(function)));
    return slot;
}

size_t cpool_wake_all(cpool_t *handle, bool closed)
{
    struct cpi_pool *pool = cpi_pool_seen(handle, "cpool_wake_all");
    struct cpi_waiter *waiter;
    size_t woken = 0;

    if (pool == NULL)
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
