/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_way.c - the life of waitable pools, alloc and free in them, and the calls of those that
 * wait.
 *
 * In waitable pools a thread is not done when another one can have the slot: it looks whether to
 * call a waiter.  Until then a mark, or that an operation is in flight, keeps cpool_destroy
 * waiting, because the other thread may have all slots and destroy the pool.
 *
 * ORDERING TABLE
 *   tally | waits load           | relaxed | - | -
 *   late  | delayed load, and store with the lock held | relaxed | - | -
 *   mark  | calls store 1        | relaxed | - | -
 *   rest  | calls store 0        | release | steal.c's inside | the owner's last access
 *
 * [mark] needs no order of its own: the slot that is given afterwards publishes it.
 */
#include "base/atomic.h"
#include "cache/mark.h"
#include "host/os.h"
#include "host/thread.h"
#include "pool/feature.h"
#include "pool/pool_alloc.h"
#include "wait/pool_wait.h"

/* --- Calls, after slots have come (queue.h) --- */

void cpi_pool_wake(struct cpi_waiter *waiter)
{
    struct cpi_sleeper *sleeper = (struct cpi_sleeper *)(void *)waiter;

    if (waiter != NULL)
        cpi_condition_signal(&sleeper->woken);
}

bool cpi_pool_take_bell(struct cpi_waiters *waiters, bool called)
{
    struct cpi_waiter *bell = &waiters->bell;
    bool pass_on = cpi_queue_leave(&waiters->queue, bell, bell->epoch - (called ? 1u : 0u));

    waiters->bell_waits = false;
    waiters->bell_owed = false;
    cpi_queue_starve(&waiters->queue, cpi_os_now());
    return pass_on;
}

void cpi_pool_call(struct cpi_pool *pool)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);
    struct cpi_waiter *waiter;
    cpool_ready_t ready;
    void *context;
    bool pass_on;

    do {
        ready = NULL;
        context = NULL;
        pass_on = false;
        cpi_mutex_lock(&waiters->lock);
        waiter = cpi_queue_call(&waiters->queue);
        if (waiter == &waiters->bell) {
            pass_on = cpi_pool_take_bell(waiters, true);
            ready = waiters->ready;
            context = waiters->ready_context;
        } else {
            cpi_pool_wake(waiter);
        }
        cpi_mutex_unlock(&waiters->lock);
        if (ready != NULL)
            ready(pool->handle, context);
        if (pass_on)
            cpi_mark_barrier(&pool->registry.barriers);
    } while (pass_on && cpi_pool_has_any(pool));
}

bool cpi_pool_serve(struct cpi_pool *pool, void *slot, const struct cpi_waiter *finder)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);
    struct cpi_queue *queue = &waiters->queue;
    struct cpi_waiter *waiter = NULL;

    cpi_mutex_lock(&waiters->lock);
    if (cpi_queue_says(queue, CPI_QUEUE_STARVES) && queue->first != finder) {
        waiter = cpi_queue_serve(queue, slot);
        cpi_queue_starve(queue, cpi_os_now());
        cpi_pool_wake(waiter);
    }
    cpi_mutex_unlock(&waiters->lock);
    return waiter != NULL;
}

/* If an operation with this cache, or none, has left anything to look for. */
CPI_COLD static void call_if_left(struct cpi_pool *pool, const struct cpi_cache *cache)
{
    if (cpi_pool_left(pool, cache) != 0)
        cpi_pool_call(pool);
}

/* --- Giving --- */

static inline void call_waiter(struct cpi_pool *pool, struct cpi_cache *cache)
{
    if (!cpi_mark_has_barrier && cache != NULL)
        cpi_mark_confirm(cache);
    if (CPI_UNLIKELY(cpi_queue_is_asked(&cpi_waiters_of(pool)->queue, cpi_mark_has_barrier)))
        call_if_left(pool, cache);
}

static bool give_uncached(struct cpi_pool *pool, void *slot)
{
    struct cpi_uncached uncached;
    bool done;

    cpi_depot_enter(&pool->depot, &uncached);
    done = cpi_pool_hand_over(pool, slot, NULL) ||
           cpi_depot_free_slot(&pool->depot, &uncached.counters, slot);
    call_waiter(pool, NULL);
    cpi_depot_leave(&pool->depot, &uncached);
    return done;
}

/* Whether, at a glance, waiters concern a free. */
static inline bool is_noticed(const struct cpi_pool *pool)
{
    return CPI_UNLIKELY(cpi_queue_glance(&cpi_waiters_of(pool)->queue) != 0);
}

/* A waiter that is to be called finds the slot soonest in the depot. */
static bool give(struct cpi_pool *pool, struct cpi_cache *cache, void *slot)
{
    bool done;

    if (cache == NULL)
        return give_uncached(pool, slot);
    cpi_store(&cache->calls, 1u, relaxed); /* [mark] */
    done = cpi_pool_hand_over(pool, slot, NULL) ||
           cpi_pool_give(pool, is_noticed(pool) ? NULL : cache, slot);
    call_waiter(pool, cache);
    cpi_store(&cache->calls, 0u, release); /* [rest] */
    return done;
}

static void free_slot(struct cpi_pool *pool, void *slot, struct cpi_cache *cache,
                      struct cpi_call call)
{
    cpi_pool_free_by(give, pool, cache, slot, call);
}

/* --- Without a gate, and with the kernel's barrier --- */

CPI_COLD static void *call_at_last(struct cpi_pool *pool, struct cpi_cache *cache, void *slot)
{
    call_waiter(pool, cache);
    cpi_store(&cache->calls, 0u, release); /* [rest] */
    return slot;
}

/* A round of the loaded magazine needs no more than the glance. */
static void *pop(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call)
{
    void *slot;

    if (CPI_UNLIKELY(cache == NULL) || CPI_UNLIKELY(!cpi_pool_pop(cache, &slot)))
        return cpi_pool_alloc_slot(pool, cache, call);
    atomic_signal_fence(memory_order_seq_cst); /* as in cpi_queue_is_asked */
    return is_noticed(pool) ? call_at_last(pool, cache, slot) : slot;
}

/* As give, while nobody waits. */
static void push(struct cpi_pool *pool, void *slot, struct cpi_cache *cache, struct cpi_call call)
{
    if (CPI_LIKELY(cache != NULL) && !is_noticed(pool) &&
        CPI_LIKELY(cpi_slab_index(&pool->slab, slot) < cache->hidden.bound)) {
        cpi_store(&cache->calls, 1u, relaxed); /* [mark] */
        if (CPI_LIKELY(cpi_pool_push(cache, slot))) {
            atomic_signal_fence(memory_order_seq_cst);
            if (is_noticed(pool))
                call_at_last(pool, cache, slot);
            else
                cpi_store(&cache->calls, 0u, release); /* [rest] */
            return;
        }
        cpi_store(&cache->calls, 0u, release); /* [rest] */
    }
    free_slot(pool, slot, cache, call);
}

/* Wakes those that sleep for long. */
CPI_COLD static void delayed(struct cpi_pool *pool)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);
    struct cpi_waiter *waiter;

    if (cpi_load(&waiters->delayed, relaxed)) /* [late] */
        return;
    cpi_mutex_lock(&waiters->lock);
    cpi_store(&waiters->delayed, true, relaxed); /* [late] */
    for (waiter = waiters->queue.first; waiter != NULL; waiter = waiter->next)
        if (waiter->asleep)
            cpi_pool_wake(waiter);
    cpi_mutex_unlock(&waiters->lock);
}

#define WAY(shows, obtain, release)                                                               \
    {.tells = shows, .alloc = obtain, .free = release, .delayed = delayed, .came = call_waiter}

static const struct cpi_way way = WAY(false, cpi_pool_alloc_slot, free_slot);
static const struct cpi_way short_way = WAY(true, pop, push);

/* --- The life of a pool --- */

CPI_COLD void cpi_wait_plan(struct cpi_layout *layout)
{
    layout->parts[CPI_PART_WAITERS] = sizeof(struct cpi_waiters);
}

/* Nobody waits, at first and in the child of a fork.  The callback and the dismissals stay. */
CPI_COLD static void renew(struct cpi_waiters *waiters)
{
    cpi_queue_show(&waiters->queue, 0);
    cpi_queue_init(&waiters->queue);
    waiters->lock = (cpi_mutex_t)CPI_MUTEX_INIT;
    atomic_init(&waiters->waits, 0);
    waiters->bell_waits = false;
    waiters->bell_owed = false;
    waiters->bell_looks = 0;
    waiters->starving_after = CPI_STARVING_AFTER;
}

CPI_COLD void cpi_wait_begin(struct cpi_pool *pool)
{
    if (cpi_waiters_of(pool) == NULL)
        return;
    renew(cpi_waiters_of(pool));
    pool->way = pool->gate == NULL && cpi_mark_has_barrier ? &short_way : &way;
}

CPI_COLD void cpi_wait_end(struct cpi_pool *pool)
{
    if (cpi_waiters_of(pool) != NULL)
        cpi_mutex_destroy(&cpi_waiters_of(pool)->lock);
}

CPI_COLD void cpi_wait_forked(struct cpi_pool *pool)
{
    if (cpi_waiters_of(pool) != NULL)
        renew(cpi_waiters_of(pool));
}

CPI_COLD void cpi_wait_parted(struct cpi_pool *pool)
{
    struct cpi_waiters *waiters = cpi_waiters_of(pool);

    if (waiters == NULL || !cpi_mutex_lock_at_end(&waiters->lock))
        return;
    pool->typed = NULL;
    waiters->queue.shown[1] = NULL;
    cpi_mutex_unlock(&waiters->lock);
}

CPI_COLD void cpi_wait_figures(const struct cpi_pool *pool, cpool_stats_t *stats)
{
    if (cpi_waiters_of(pool) != NULL)
        stats->waits = cpi_load(&cpi_waiters_of(pool)->waits, relaxed); /* [tally] */
}
