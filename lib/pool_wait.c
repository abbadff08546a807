/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_wait.c - sleeping until a slot is free.
 *
 * Floor 6.
 *
 *   who waits                             who allocates or frees
 *   joins the queue; count + n            does it; leaves its cache
 *   looks everywhere, recalling from      count > 0?  nudges the first in the
 *   all caches                            queue; count = 0
 *   sleeps until nudged or served; if
 *   nudged, joins and looks again
 *
 * The look after joining and the question after leaving are Dekker's rule once
 * more: whoever was inside while the waiter looked, and had slots in its hands
 * that the waiter could not reach, sees the waiter afterwards.
 *
 * A slot that is freed goes the ordinary way, so that threads that run can use it
 * while who was nudged wakes up.  At most one, the first in the queue, is on its
 * way; until it is counted again, or its patience ends, nobody else need be told of
 * anything, because it has yet to look.  A nudge ends with a look that finds nothing: who finds a slot,
 * is served or gives up before that passes the nudge on.
 *
 * Eventually it is fair.  Whoever frees, or finds a slot by looking, while the first
 * in the queue has waited for longer than its patience, hands the slot over to it
 * directly.  Those who free do so at once as long as that holds nobody up, which
 * saves the sleeper the looking: until somebody has to join the queue while a slot is
 * in transit to a sleeper; and again once a sleeper was nudged and found a slot that
 * nobody had used meanwhile.  And always where the system has refused the barrier:
 * then a sleeper could not take the slot out of a cache.
 *
 * ORDERING TABLE
 *   join  | count fetch-and-add      | acq_rel | ask  | all that was given back before
 *   ask   | count fetch-and-add of 0 | acq_rel | join | what this operation gave back
 *   glance | count load              | relaxed | -    | -
 *   own   | count load, with the lock held | relaxed | - | -
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

/* How long a waiter sleeps that looked in vain while somebody freed something: it
 * has to look again, but whoever frees so often takes again as often, and is held
 * up by being looked at. */
static const struct timespec nap = {0, 50000};

/* In the queue from joining until it is served or gives up; on the waiter's own
 * stack. */
struct cpi_waiter {
    /* Guarded by the queue's lock. */
    struct cpi_waiter *next;
    void *slot;          /* NULL until it is served */
    bool called;         /* by who served it; has not noticed yet */
    pthread_cond_t told; /* that it is served, or nudged */

    /* Constant. */
    struct timespec patient; /* until then */
    const struct timespec *deadline; /* NULL: none */

    /* Its own. */
    bool known; /* whoever gives knows of it; false: perhaps */
    bool woken; /* by a nudge, and has not looked since */
    bool last;  /* it looks for the last time */
    bool slept; /* and is counted in `waits` */
};

void cpi_waiters_init(struct cpi_waiters *waiters)
{
    atomic_init(&waiters->count, 0);
    pthread_mutex_init(&waiters->lock, NULL);
    waiters->first = NULL;
    waiters->last = NULL;
    waiters->length = 0;
    waiters->transit = 0;
    waiters->nudged = false;
    waiters->owes = false;
    waiters->direct = true;
    waiters->patience.tv_sec = 0;
    waiters->patience.tv_nsec = CPI_PATIENCE;
}

/* --- Times --- */

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

/* Whether a comes before b, which may be NULL: never. */
static bool is_earlier(const struct timespec *a, const struct timespec *b)
{
    return b == NULL || a->tv_sec < b->tv_sec ||
           (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static bool is_past(const struct timespec *deadline)
{
    struct timespec now;

    if (deadline == NULL)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return !is_earlier(&now, deadline);
}

/* --- The queue: these functions hold its lock --- */

/* Whether somebody is to have the next slot, whoever else could use it at once. */
static bool is_due(const struct cpi_waiters *waiters)
{
    return waiters->first != NULL && is_past(&waiters->first->patient);
}

/* While the first is on its way, nobody need be told of anything; but it may be long
 * on its way, on a busy machine, and is to be served when its patience has ended. */
static void publish_count(struct cpi_waiters *waiters)
{
    uint32_t before = cpi_load(&waiters->count, relaxed); /* [own] */
    uint32_t now = waiters->length;

    if (waiters->nudged && !cpi_recall_is_refused() && !is_due(waiters))
        now = 0;
    if (now != before)
        cpi_fetch_add(&waiters->count, now - before, acq_rel); /* [join] */
}

static bool is_nudged(const struct cpi_waiters *waiters, const struct cpi_waiter *waiter)
{
    return waiters->nudged && waiters->first == waiter;
}

/* Sends the first to look for itself. */
static void nudge(struct cpi_waiters *waiters)
{
    if (waiters->nudged || waiters->first == NULL)
        return;
    waiters->nudged = true;
    waiters->owes = true;
    publish_count(waiters);
    pthread_cond_signal(&waiters->first->told);
}

static void enter(struct cpi_waiters *waiters, struct cpi_waiter *waiter)
{
    waiter->next = NULL;
    if (waiters->last != NULL)
        waiters->last->next = waiter;
    else
        waiters->first = waiter;
    waiters->last = waiter;
    waiters->length++;
    publish_count(waiters);
    /* It could have used that slot long before who is waking up for it. */
    if (waiters->transit > 0)
        waiters->direct = false;
}

/* Who owes a look passes that on. */
static void leave(struct cpi_waiters *waiters, const struct cpi_waiter *waiter)
{
    struct cpi_waiter **link = &waiters->first;
    struct cpi_waiter *before = NULL;
    bool owes = waiters->first == waiter && waiters->owes;

    while (*link != waiter) {
        before = *link;
        link = &before->next;
    }
    *link = waiter->next;
    if (waiters->last == waiter)
        waiters->last = before;
    waiters->length--;
    if (owes) {
        waiters->nudged = false;
        waiters->owes = false;
    }
    publish_count(waiters);
    if (owes)
        nudge(waiters);
}

static void serve_first(struct cpi_waiters *waiters, void *slot)
{
    struct cpi_waiter *waiter = waiters->first;

    leave(waiters, waiter);
    waiter->slot = slot;
    waiter->called = true;
    waiters->transit++;
    pthread_cond_signal(&waiter->told);
}

/* Whether the waiter is served, and knows it now. */
static bool is_served(struct cpi_waiters *waiters, struct cpi_waiter *waiter)
{
    if (waiter->called) {
        waiter->called = false;
        waiters->transit--;
    }
    return waiter->slot != NULL;
}

/* --- Who gives --- */

/* Whether what is freed is the first's.  Where the barrier is refused, what lies in
 * another thread's cache is out of the first's reach. */
static bool is_firsts(const struct cpi_waiters *waiters)
{
    return waiters->first != NULL &&
           (waiters->direct || cpi_recall_is_refused() || is_due(waiters));
}

bool cpi_pool_hand_over(cpool_t *pool, void *slot)
{
    struct cpi_waiters *waiters = &pool->waiters;
    bool served = false;

    if (CPI_LIKELY(cpi_load(&waiters->count, relaxed) == 0)) /* [glance] */
        return false;
    pthread_mutex_lock(&waiters->lock);
    if (is_firsts(waiters)) {
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

/* Whether there may be slots where somebody has looked in vain before: the caller
 * may have left them, or have made room for fresh ones. */
static bool has_left_any(const cpool_t *pool, const struct cpi_cache *cache)
{
    uint64_t bounds = cpi_slab_bounds(&pool->slab);

    return CPI_BOUNDS_FRESH(bounds) < CPI_BOUNDS_CAPACITY(bounds) ||
           (cache != NULL && cpi_cache_rounds(cache) > 0) ||
           cpi_depot_has_stocked(&pool->depot) || cpi_depot_remnant_rounds(&pool->depot) > 0;
}

void cpi_pool_settle(cpool_t *pool)
{
    struct cpi_waiters *waiters = &pool->waiters;
    void *slot;

    if (!pool->waitable || !somebody_waits(waiters))
        return;
    pthread_mutex_lock(&waiters->lock);
    while (waiters->first != NULL && (slot = cpi_pool_take_uncached(pool)) != NULL)
        serve_first(waiters, slot);
    pthread_mutex_unlock(&waiters->lock);
}

void cpi_pool_nudge_waiters(cpool_t *pool, struct cpi_cache *cache)
{
    struct cpi_waiters *waiters = &pool->waiters;

    if (CPI_LIKELY(!somebody_waits(waiters)))
        return;
    if (CPI_UNLIKELY(cpi_recall_is_refused())) {
        if (cache != NULL)
            cpi_recall_flush(cache);
        cpi_pool_settle(pool);
    } else if (has_left_any(pool, cache)) {
        pthread_mutex_lock(&waiters->lock);
        nudge(waiters);
        pthread_mutex_unlock(&waiters->lock);
    }
}

/* --- Who waits --- */

static void join(struct cpi_waiters *waiters, struct cpi_waiter *waiter)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&waiter->told, &attributes);
    pthread_condattr_destroy(&attributes);
    waiter->slot = NULL;
    waiter->called = false;
    waiter->patient = deadline_of(&waiters->patience);
    waiter->woken = false;
    waiter->slept = false;
    pthread_mutex_lock(&waiters->lock);
    enter(waiters, waiter);
    pthread_mutex_unlock(&waiters->lock);
}

/* Before each look: now whoever gives is to know of the waiter. */
static void join_again(struct cpi_waiters *waiters, struct cpi_waiter *waiter)
{
    pthread_mutex_lock(&waiters->lock);
    if (waiters->first == waiter)
        waiters->nudged = false;
    publish_count(waiters);
    pthread_mutex_unlock(&waiters->lock);
    waiter->known = cpi_recall_barrier();
    waiter->last = is_past(waiter->deadline);
}

/* Takes what the depot has: for who is due, then for the waiter.  Whether that is
 * served. */
static bool take_idle(cpool_t *pool, struct cpi_waiter *waiter)
{
    struct cpi_waiters *waiters = &pool->waiters;
    bool served;
    void *slot;

    pthread_mutex_lock(&waiters->lock);
    while (waiter->slot == NULL && (slot = cpi_pool_take_uncached(pool)) != NULL) {
        if (waiters->first != waiter && is_due(waiters)) {
            serve_first(waiters, slot);
            continue;
        }
        leave(waiters, waiter);
        waiter->slot = slot;
        if (waiter->woken) /* and nobody used it meanwhile */
            waiters->direct = true;
    }
    served = is_served(waiters, waiter);
    pthread_mutex_unlock(&waiters->lock);
    return served;
}

/* Looks everywhere for a slot that lies idle; whether the waiter is served. */
static bool look_for_idle(cpool_t *pool, struct cpi_waiter *waiter, struct cpi_cache *cache)
{
    uint32_t seen;
    bool served;

    do {
        seen = cpi_pool_collections(pool);
        if (cache != NULL)
            cpi_recall_flush(cache);
        served = take_idle(pool, waiter);
    } while (!served && (cpi_pool_await_collector(pool, seen) || cpi_pool_replenish(pool)));
    return served;
}

/* With the lock held: sleeps until it is served, nudged, unless that does not count,
 * or the time comes. */
static void sleep_until(struct cpi_waiters *waiters, struct cpi_waiter *waiter,
                        const struct timespec *time, bool nudges)
{
    int status = 0;

    while (waiter->slot == NULL && !(nudges && is_nudged(waiters, waiter)) && status == 0) {
        if (time != NULL)
            status = pthread_cond_timedwait(&waiter->told, &waiters->lock, time);
        else
            status = pthread_cond_wait(&waiter->told, &waiters->lock);
    }
}

/* Whether whoever gives knows of the waiter, and it can reach what they leave. */
static bool is_known(const struct cpi_waiter *waiter)
{
    return waiter->known && !cpi_recall_is_refused();
}

static void limit(const struct timespec **until, const struct timespec *time)
{
    if (is_earlier(time, *until))
        *until = time;
}

/* With the lock held: sleeps until there is reason to look; if there is already, for
 * a nap.  Who is behind the first comes back when the patience has ended, to have it
 * served should it be held up on its way. */
static void sleep_or_nap(struct cpi_waiters *waiters, struct cpi_waiter *waiter)
{
    const struct timespec *until = waiter->deadline;
    bool nudges = !is_nudged(waiters, waiter);
    struct timespec interval;

    if (!is_known(waiter) || !nudges) {
        interval = deadline_of(nudges ? &look_again : &nap);
        limit(&until, &interval);
    }
    if (waiters->first != waiter && !is_past(&waiter->patient))
        limit(&until, &waiter->patient);
    sleep_until(waiters, waiter, until, nudges);
    waiter->woken = nudges && is_nudged(waiters, waiter);
}

/* Having looked in vain: sleeps, unless that was the last look.  Whether the
 * waiting is over; a time limit that has passed means one look more. */
static bool rest(struct cpi_waiters *waiters, struct cpi_waiter *waiter)
{
    bool over;

    pthread_mutex_lock(&waiters->lock);
    if (waiters->first == waiter && is_known(waiter) && !waiters->nudged)
        waiters->owes = false;
    if (!waiter->slept && waiter->slot == NULL)
        cpi_fetch_add(&waiters->waits, 1u, relaxed); /* [tally] */
    waiter->slept = true;
    if (!waiter->last)
        sleep_or_nap(waiters, waiter);
    over = is_served(waiters, waiter) || waiter->last;
    if (over && waiter->slot == NULL)
        leave(waiters, waiter);
    pthread_mutex_unlock(&waiters->lock);
    return over;
}

static void *wait_in_queue(cpool_t *pool, const struct timespec *deadline)
{
    struct cpi_waiters *waiters = &pool->waiters;
    struct cpi_cache *cache = cpi_registry_known_cache(&pool->roster);
    struct cpi_waiter waiter;

    waiter.deadline = deadline;
    join(waiters, &waiter);
    do {
        join_again(waiters, &waiter);
    } while (!look_for_idle(pool, &waiter, cache) && !rest(waiters, &waiter));
    /* What it moved while it looked others may have overlooked. */
    cpi_pool_nudge_waiters(pool, cache);
    pthread_cond_destroy(&waiter.told);
    return waiter.slot;
}

void *cpool_alloc_wait(cpool_t *pool, const struct timespec *timeout)
{
    static const char function[] = "cpool_alloc_wait";
    struct timespec deadline;
    void *slot;
    int cancel;

    if (!cpi_pool_is_ours(pool, function))
        return NULL;
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
    struct cpi_cache *cache;
    void *slot;

    if (!cpi_pool_is_ours(pool, function))
        return NULL;
    cache = cpi_registry_own_cache(&pool->roster);
    do {
        slot = cpi_pool_alloc(pool, cache, function, CPI_CALLER());
        if (slot != NULL)
            return slot;
    } while (help(arg));
    return cpi_pool_alloc(pool, cache, function, CPI_CALLER());
}
