/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_wait.c - sleeping until a slot is free.
 *
 * Floor 6.
 *
 *   who waits                             who allocates or frees
 *   joins the queue; count + 1            does it; leaves its cache
 *   looks once more, recalling from       count > 0?  flushes its cache, and
 *   all caches                            serves the queue from the depot
 *   sleeps
 *
 * The look after joining and the question after leaving are Dekker's rule once
 * more: whoever was inside while the waiter looked, and had slots in its hands
 * that the waiter could not reach, sees the waiter afterwards.  A free that finds
 * somebody waiting hands the slot over directly, so those who wait are served in
 * the order in which they came, however busy the others are.
 *
 * ORDERING TABLE
 *   join  | count fetch-and-add      | acq_rel | ask  | all that was given back before
 *   ask   | count fetch-and-add of 0 | acq_rel | join | what this operation gave back
 *   glance | count load              | relaxed | -    | -
 *   tally | waits fetch-and-add      | relaxed | -    | -
 *
 * [ask] and [join] change the same word, so one of them comes first.  If it is
 * [ask], the waiter's look comes after it and sees what was given back; if it is
 * [join], the answer is that somebody waits.  Where the kernel has a barrier the
 * waiter pays it after joining, and a [glance] is enough of an answer, as in
 * recall.c: so that the word is not fought over while nobody waits.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "pool_impl.h"

#include <time.h>

#include "quiet.h"
#include "recall.h"

/* How long a waiter sleeps at a time when the system has taken its barrier away,
 * so that a free may have overlooked it. */
static const struct timespec look_again = {0, 10000000};

/* In the queue from joining until it is served or gives up; on the waiter's own
 * stack. */
struct cpi_waiter {
    struct cpi_waiter *next;
    void *slot; /* NULL until it is served */
    pthread_cond_t served;
};

void cpi_waiters_init(struct cpi_waiters *waiters)
{
    atomic_init(&waiters->count, 0);
    pthread_mutex_init(&waiters->lock, NULL);
    waiters->first = NULL;
    waiters->last = NULL;
}

/* The functions below hold the queue's lock. */

static void append(struct cpi_waiters *waiters, struct cpi_waiter *waiter)
{
    waiter->next = NULL;
    if (waiters->last != NULL)
        waiters->last->next = waiter;
    else
        waiters->first = waiter;
    waiters->last = waiter;
}

static void leave(struct cpi_waiters *waiters, const struct cpi_waiter *waiter)
{
    struct cpi_waiter **link = &waiters->first;
    struct cpi_waiter *before = NULL;

    while (*link != waiter) {
        before = *link;
        link = &before->next;
    }
    *link = waiter->next;
    if (waiters->last == waiter)
        waiters->last = before;
    cpi_fetch_add(&waiters->count, UINT32_MAX, acq_rel); /* [join] */
}

static void serve_first(struct cpi_waiters *waiters, void *slot)
{
    struct cpi_waiter *waiter = waiters->first;

    leave(waiters, waiter);
    waiter->slot = slot;
    pthread_cond_signal(&waiter->served);
}

/* --- Who gives --- */

bool cpi_pool_hand_over(cpool_t *pool, void *slot)
{
    struct cpi_waiters *waiters = &pool->waiters;
    bool served = false;

    if (CPI_LIKELY(cpi_load(&waiters->count, relaxed) == 0)) /* [glance] */
        return false;
    pthread_mutex_lock(&waiters->lock);
    if (waiters->first != NULL) {
        serve_first(waiters, slot);
        served = true;
    }
    pthread_mutex_unlock(&waiters->lock);
    return served;
}

static bool somebody_waits(struct cpi_waiters *waiters)
{
    if (cpi_recall_has_barrier()) {
        atomic_signal_fence(memory_order_seq_cst);
        return cpi_load(&waiters->count, relaxed) != 0; /* [glance] */
    }
    return cpi_fetch_add(&waiters->count, 0u, acq_rel) != 0; /* [ask] */
}

void cpi_pool_serve_waiters(cpool_t *pool, struct cpi_cache *cache)
{
    struct cpi_waiters *waiters = &pool->waiters;
    void *slot;

    if (CPI_LIKELY(!somebody_waits(waiters)))
        return;
    if (cache != NULL)
        cpi_recall_flush(cache);
    pthread_mutex_lock(&waiters->lock);
    while (waiters->first != NULL && (slot = cpi_pool_take_uncached(pool)) != NULL)
        serve_first(waiters, slot);
    pthread_mutex_unlock(&waiters->lock);
}

void cpi_pool_settle(cpool_t *pool)
{
    if (pool->waitable)
        cpi_pool_serve_waiters(pool, NULL);
}

/* --- Who waits --- */

/* Zero, negative, and no time at all: no wait. */
static bool is_positive(const struct timespec *timeout)
{
    return timeout->tv_sec >= 0 && timeout->tv_nsec >= 0 && timeout->tv_nsec < 1000000000L &&
           (timeout->tv_sec > 0 || timeout->tv_nsec > 0);
}

static struct timespec deadline_of(const struct timespec *timeout)
{
    struct timespec deadline;

    clock_gettime(CLOCK_MONOTONIC, &deadline);
    if (timeout->tv_sec >= INT32_MAX - deadline.tv_sec) {
        deadline.tv_sec = INT32_MAX;
        return deadline;
    }
    deadline.tv_sec += timeout->tv_sec;
    deadline.tv_nsec += timeout->tv_nsec;
    if (deadline.tv_nsec >= 1000000000L) {
        deadline.tv_nsec -= 1000000000L;
        deadline.tv_sec++;
    }
    return deadline;
}

/* With the lock held: sleeps until served, true, or until the deadline. */
static bool sleep_until_served(struct cpi_waiters *waiters, struct cpi_waiter *waiter,
                               const struct timespec *deadline)
{
    int status = 0;

    while (waiter->slot == NULL && status == 0) {
        if (deadline != NULL)
            status = pthread_cond_timedwait(&waiter->served, &waiters->lock, deadline);
        else
            status = pthread_cond_wait(&waiter->served, &waiters->lock);
    }
    return waiter->slot != NULL;
}

static void init_waiter(struct cpi_waiter *waiter)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&waiter->served, &attributes);
    pthread_condattr_destroy(&attributes);
    waiter->slot = NULL;
}

static bool is_served(struct cpi_waiters *waiters, const struct cpi_waiter *waiter)
{
    bool served;

    pthread_mutex_lock(&waiters->lock);
    served = waiter->slot != NULL;
    pthread_mutex_unlock(&waiters->lock);
    return served;
}

/* Sees to it that slots which lie idle reach the queue. */
static void look_for_idle(cpool_t *pool, const struct cpi_waiter *waiter)
{
    struct cpi_cache *cache = cpi_registry_known_cache(&pool->roster);
    uint32_t seen;

    do {
        seen = cpi_pool_collections(pool);
        cpi_pool_serve_waiters(pool, cache);
    } while (!is_served(&pool->waiters, waiter) &&
             (cpi_pool_await_collector(pool, seen) || cpi_pool_replenish(pool)));
}

/* Whether a comes before b, which may be NULL: never. */
static bool is_earlier(const struct timespec *a, const struct timespec *b)
{
    return b == NULL || a->tv_sec < b->tv_sec ||
           (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* Looks for idle slots, then sleeps, and if nobody may know of the waiter looks
 * again at intervals. */
static void look_and_sleep(cpool_t *pool, struct cpi_waiter *waiter,
                           const struct timespec *deadline, bool known)
{
    struct cpi_waiters *waiters = &pool->waiters;
    bool first = true;
    bool over;

    do {
        const struct timespec *until = deadline;
        struct timespec interval;

        if (!known) {
            interval = deadline_of(&look_again);
            if (is_earlier(&interval, deadline))
                until = &interval;
        }
        look_for_idle(pool, waiter);
        pthread_mutex_lock(&waiters->lock);
        if (first && waiter->slot == NULL)
            cpi_fetch_add(&waiters->waits, 1u, relaxed); /* [tally] */
        first = false;
        over = sleep_until_served(waiters, waiter, until) || until == deadline;
        if (over && waiter->slot == NULL)
            leave(waiters, waiter);
        pthread_mutex_unlock(&waiters->lock);
    } while (!over);
}

static void *wait_in_queue(cpool_t *pool, const struct timespec *deadline)
{
    struct cpi_waiters *waiters = &pool->waiters;
    struct cpi_waiter waiter;

    init_waiter(&waiter);
    pthread_mutex_lock(&waiters->lock);
    append(waiters, &waiter);
    cpi_fetch_add(&waiters->count, 1u, acq_rel); /* [join] */
    pthread_mutex_unlock(&waiters->lock);
    look_and_sleep(pool, &waiter, deadline, cpi_recall_barrier());
    pthread_cond_destroy(&waiter.served);
    return waiter.slot;
}

void *cpool_alloc_wait(cpool_t *pool, const struct timespec *timeout)
{
    static const char function[] = "cpool_alloc_wait";
    struct timespec deadline;
    void *slot;
    int cancel;

    if (!pool->waitable) {
        cpi_pool_report(CPOOL_EWAITABLE, function, pool);
        return NULL;
    }
    slot = cpi_pool_alloc(pool, cpi_registry_own_cache(&pool->roster), function, CPI_CALLER());
    if (slot != NULL || (timeout != NULL && !is_positive(timeout)))
        return slot;
    if (timeout != NULL)
        deadline = deadline_of(timeout);
    /* A thread must not be cancelled with its place in the queue on its stack. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    slot = wait_in_queue(pool, timeout != NULL ? &deadline : NULL);
    pthread_setcancelstate(cancel, NULL);
    if (slot != NULL && pool->checked)
        cpi_pool_watch_alloc(pool, slot, function, CPI_CALLER());
    return slot;
}

void *cpool_alloc_or_help(cpool_t *pool, bool (*help)(void *arg), void *arg)
{
    static const char function[] = "cpool_alloc_or_help";
    struct cpi_cache *cache = cpi_registry_own_cache(&pool->roster);
    void *slot;

    do {
        slot = cpi_pool_alloc(pool, cache, function, CPI_CALLER());
        if (slot != NULL)
            return slot;
    } while (help(arg));
    return cpi_pool_alloc(pool, cache, function, CPI_CALLER());
}
