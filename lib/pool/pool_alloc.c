/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_alloc.c - allocating and freeing out of line, and what happens when a pool is dry.
 *
 * ORDERING TABLE
 *   count | stalls fetch-and-add | relaxed | - | -
 *   mark  | calls store 1        | relaxed | - | -
 *   rest  | calls store 0        | release | reclaim.c's inside | the owner's
 *                                                      last access
 *
 * [mark] needs no order of its own: the slot that is given afterwards publishes it.
 */
#include "pool/feature.h"
#include "pool/drain.h"
#include "pool/pool_alloc.h"
#include "pool/stats.h"
#include "pool/report.h"

#include "base/atomic.h"
#include "base/tools.h"
#include "host/os.h"

/* --- Taking and giving --- */

static void *take_uncached(struct cpi_pool *pool)
{
    struct cpi_uncached uncached;
    void *slot;

    cpi_depot_enter(&pool->depot, &uncached);
    slot = cpi_depot_take_slot(&pool->slab, &pool->depot, &uncached.counters);
    cpi_depot_leave(&pool->depot, &uncached);
    return slot;
}

void *cpi_pool_take(struct cpi_pool *pool, struct cpi_cache *cache)
{
    return cache != NULL ? cpi_cache_take(cache) : take_uncached(pool);
}

/* A thread is not done when another one can have the slot: it looks whether to call somebody who
 * waits.  Until then an operation in flight, or the owner's word, keeps cpool_destroy waiting,
 * because the other thread may have all slots and destroy the pool. */
static bool give_uncached(struct cpi_pool *pool, void *slot)
{
    struct cpi_uncached uncached;
    bool done;

    cpi_depot_enter(&pool->depot, &uncached);
    done = cpi_pool_hand_over_free(pool, slot) ||
           cpi_depot_free_slot(&pool->depot, &uncached.counters, slot);
    cpi_pool_came(pool);
    cpi_depot_leave(&pool->depot, &uncached);
    return done;
}

bool cpi_pool_give(struct cpi_pool *pool, struct cpi_cache *cache, void *slot)
{
    bool done;

    if (cache == NULL)
        return give_uncached(pool, slot);
    cpi_store(&cache->calls, 1u, relaxed); /* [mark] */
    done = cpi_pool_hand_over_free(pool, slot) || cpi_cache_give(cache, slot);
    cpi_pool_came(pool);
    cpi_store(&cache->calls, 0u, release); /* [rest] */
    return done;
}

/* --- When the pool is dry --- */

/* Something was made or found, so that it is worth looking again, and nobody was disturbed. */
static bool replenish(struct cpi_pool *pool, bool retires)
{
    return cpi_pool_grow_by_itself(pool) || cpi_reclaim_spare(&pool->registry) ||
           (retires && cpi_retire_dry(pool));
}

void *cpi_pool_look(struct cpi_pool *pool, bool retires)
{
    uint32_t seen;
    void *slot;

    do {
        seen = cpi_depot_drains(&pool->depot);
        slot = take_uncached(pool);
    } while (slot == NULL &&
             (cpi_depot_was_drained(&pool->depot, seen) ? cpi_depot_drains(&pool->depot) % 2 == 0
                                                        : replenish(pool, retires)));
    return slot;
}

/*
 * Between looking into one place and looking into the next a slot may have moved from the second
 * to the first.  While entries are closed, the places are the depot, the fresh slots and the hands
 * of operations.  So nothing was to be had only if nothing moved from before the look until every
 * operation that was inside after it has left.  At the end of the look each slot was live, or in
 * the hands of one of those, and their exchanges are counted.
 *
 * A thread that was stopped inside is waited for, but not for ever: what it has loaded or in its
 * hands is out of reach then.
 */
enum verdict { DRY, AGAIN, LATER, STALLED };

static enum verdict judge(const struct cpi_pool *pool, uint64_t before,
                          struct cpi_backoff *backoff)
{
    if (!cpi_await_inside(&pool->registry, backoff))
        return STALLED;
    return cpi_reclaim_activity(&pool->registry) == before ? DRY : LATER;
}

/* With all entries closed. */
static void *look_closed(struct cpi_pool *pool, struct cpi_backoff *backoff, enum verdict *verdict)
{
    uint64_t before = cpi_reclaim_activity(&pool->registry);
    uint32_t seen = cpi_depot_drains(&pool->depot);
    bool all = cpi_reclaim_all(&pool->registry, backoff, false);
    void *slot = take_uncached(pool);

    *verdict = DRY;
    if (slot == NULL && (cpi_pool_await_drain(pool, seen) || cpi_pool_grow_by_itself(pool)))
        *verdict = AGAIN;
    else if (slot == NULL)
        *verdict = all ? judge(pool, before, backoff) : STALLED;
    return slot;
}

/* Each look stands alone, so that between two of them owners may open their entries.  They would
 * exchange every slot with the depot otherwise, as long as this thread gives way. */
static void *look_again(struct cpi_pool *pool)
{
    struct cpi_backoff backoff = {pool->stall_limit, 0, 0};
    enum verdict verdict;
    unsigned begun;
    void *slot;

    do {
        begun = cpi_reclaim_begin(&pool->registry);
        slot = look_closed(pool, &backoff, &verdict);
        cpi_reclaim_end(&pool->registry, begun);
    } while (verdict == AGAIN || (verdict == LATER && cpi_await_pause(&backoff)));
    if (verdict != DRY)
        cpi_fetch_add(&pool->stalls, 1u, relaxed); /* [count] */
    return slot;
}

/* The caller has passed through its cache, the depot and the fresh slots in vain.  That pass does
 * not tell of a drain, so there is another one. */
CPI_COLD static void *search(struct cpi_pool *pool, struct cpi_cache *cache)
{
    uint32_t seen;
    void *slot;

    do {
        seen = cpi_depot_drains(&pool->depot);
        slot = cpi_pool_take(pool, cache);
    } while (slot == NULL && (cpi_pool_await_drain(pool, seen) || replenish(pool, true)));
    return slot != NULL ? slot : look_again(pool);
}

/* --- What is left --- */

unsigned cpi_pool_left(const struct cpi_pool *pool)
{
    uint64_t bounds = cpi_slab_bounds(&pool->slab);
    bool more = CPI_BOUNDS_FRESH(bounds) < CPI_BOUNDS_CAPACITY(bounds) ||
                (pool->grows && CPI_BOUNDS_CAPACITY(bounds) < pool->slab.slots);
    bool slots = cpi_depot_has_stocked(&pool->depot) || cpi_depot_partial_rounds(&pool->depot) > 0;

    return (slots ? CPI_LEFT_SLOTS : 0) | (more ? CPI_LEFT_MORE : 0);
}

bool cpi_pool_has_any(const struct cpi_pool *pool)
{
    size_t i;

    for (i = 0; i < cpi_registry_made(&pool->registry); i++)
        if (cpi_cache_rounds(cpi_registry_cache(&pool->registry, i)) > 0)
            return true;
    return cpi_pool_left(pool) != 0;
}

/* --- Alloc and free --- */

/* In any state. */
CPI_APART static void *obtain(struct cpi_pool *pool, struct cpi_cache *cache)
{
    void *slot;

    if (CPI_LIKELY(cache != NULL))
        cpi_pool_note_exchange(pool, cache);
    slot = cpi_pool_take(pool, cache);
    if (CPI_UNLIKELY(slot == NULL))
        slot = search(pool, cache);
    /* Others may have missed what this one has put back.  But room for which the system refuses
     * memory is no reason to call. */
    if (slot != NULL || (cpi_pool_left(pool) & CPI_LEFT_SLOTS) != 0)
        cpi_pool_came(pool);
    return slot;
}

void *cpi_pool_alloc(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call)
{
    void *slot;

    do
        if (CPI_UNLIKELY(cache == NULL) ||
            CPI_UNLIKELY(!cpi_cache_pop(cache, cpi_cache_active(cache), &slot)))
            slot = obtain(pool, cache);
    while (slot != NULL && CPI_UNLIKELY(!cpi_pool_passes(pool, slot, call)));
    return slot;
}

int cpi_pool_judge(const struct cpi_pool *pool, const void *slot, const char *function,
                   uintptr_t *index)
{
    static const int codes[] = {
        [CPI_PLACE_SLOT] = 0,
        [CPI_PLACE_UNUSED] = CPOOL_EUNUSED,
        [CPI_PLACE_INSIDE] = CPOOL_EMISALIGNED,
        [CPI_PLACE_OUTSIDE] = CPOOL_EFOREIGN,
    };
    int code = codes[cpi_slab_place(&pool->slab, slot, index)];

    if (CPI_UNLIKELY(code != 0))
        cpi_pool_report_address(code, function, pool, slot, *index);
    return code;
}

void cpi_pool_free(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                   struct cpi_call call)
{
    uintptr_t index;

    if (CPI_UNLIKELY(cpi_slab_place(&pool->slab, slot, &index) != CPI_PLACE_SLOT)) {
        if (slot != NULL)
            (void)cpi_pool_judge(pool, slot, call.function, &index);
        return;
    }
    if (CPI_UNLIKELY(!cpi_pool_returns(pool, slot, call)))
        return;
    /* From here on another thread may have destroyed the pool, unless there was no place
     * for the slot: plain pools learn of double frees only in this way. */
    if (CPI_LIKELY(cache != NULL) &&
        CPI_LIKELY(cpi_cache_push(cache, cpi_cache_active(cache), slot)))
        return;
    if (CPI_UNLIKELY(!cpi_pool_give(pool, cache, slot)))
        cpi_pool_report_slot(CPOOL_EDOUBLEFREE, call.function, pool, index);
}
