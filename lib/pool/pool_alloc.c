/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_alloc.c - allocating and freeing, when the fast path cannot: the plain way.
 *
 * ORDERING TABLE
 *   count | stalls fetch-and-add | relaxed | - | -
 */
#include "pool/feature.h"
#include "pool/pool_drain.h"
#include "pool/pool_alloc.h"
#include "pool/pool_info.h"
#include "pool/pool_report.h"

#include "base/atomic.h"
#include "base/tools.h"
#include "cache/steal.h"
#include "host/os.h"

/* --- Without a cache --- */

static void *alloc_uncached(struct cpi_pool *pool)
{
    uint32_t seen = cpi_depot_drains(&pool->depot);
    struct cpi_uncached uncached;
    uintptr_t index;
    void *slot;

    cpi_depot_enter(&pool->depot, &uncached);
    slot = cpi_depot_alloc_slot(&pool->depot, &uncached.counters);
    if (slot == NULL && !cpi_depot_was_drained(&pool->depot, seen) &&
        cpi_cache_bump(&pool->slab, &pool->depot, 1, 0, &index) == 1)
        slot = cpi_slab_slot(&pool->slab, index);
    cpi_depot_leave(&pool->depot, &uncached);
    return slot;
}

static bool free_uncached(struct cpi_pool *pool, void *slot)
{
    struct cpi_uncached uncached;
    bool done;

    cpi_depot_enter(&pool->depot, &uncached);
    done = cpi_depot_free_slot(&pool->depot, &uncached.counters, slot);
    cpi_depot_leave(&pool->depot, &uncached);
    return done;
}

/* --- With a cache --- */

void *cpi_pool_take(struct cpi_pool *pool, struct cpi_cache *cache)
{
    void *slot;

    if (cache == NULL || !cpi_mark_try_enter(cache))
        return alloc_uncached(pool);
    slot = cpi_cache_alloc(cache);
    cpi_mark_leave(cache);
    return slot;
}

bool cpi_pool_give(struct cpi_pool *pool, struct cpi_cache *cache, void *slot)
{
    bool done;

    if (cache == NULL || !cpi_mark_try_enter(cache))
        return free_uncached(pool, slot);
    done = cpi_cache_free(cache, slot);
    cpi_mark_leave(cache);
    return done;
}

/* --- When the pool is dry --- */

#define CPI_UNSETTLED CPI_GIVE_WAY /* looks at what others never show twice the same */

/*
 * A slot beyond the capacity, in place of one that another thread has loaded and may not be
 * revoked of.  There are no more of them than seem to be out of reach, which is rather too many
 * than too few.  Several at a time, as to count those means to look at all caches.
 */
static void *take_slack(struct cpi_pool *pool, struct cpi_cache *cache)
{
    uintptr_t beyond = pool->slab.slots - pool->slab.most;
    uintptr_t missed;
    uintptr_t index;
    void *slot = NULL;

    if (beyond == 0)
        return NULL;
    missed = cpi_await_out_of_reach(&pool->registry);
    if (missed < beyond)
        beyond = missed;
    if (cache == NULL) {
        if (cpi_cache_bump(&pool->slab, &pool->depot, 1, beyond, &index) == 1)
            slot = cpi_slab_slot(&pool->slab, index);
    } else if (cpi_mark_try_enter(cache)) {
        if (cpi_cache_refill_fresh(cache, beyond))
            slot = cpi_cache_pop(cache);
        cpi_mark_leave(cache);
    }
    return slot;
}

static bool recall(struct cpi_pool *pool)
{
    struct cpi_uncached uncached;
    bool recalled;

    cpi_depot_enter(&pool->depot, &uncached);
    cpi_depot_set_dry(&pool->depot, true);
    recalled = cpi_steal_spare(&pool->registry, &uncached.counters) ||
               (pool->registry.exact && cpi_steal_loaded(&pool->registry, &uncached.counters));
    CPI_PROBE2(recall, pool->handle, recalled);
    cpi_depot_leave(&pool->depot, &uncached);
    return recalled;
}

static bool replenish(struct cpi_pool *pool)
{
    return cpi_pool_grow_by_itself(pool) || recall(pool) || cpi_retire_dry(pool);
}

/* Whether it is worth looking again, having found nothing: something was made or found
 * now.  A thread that drains the depot is awaited, or calls waiters when it is done. */
static bool is_more(struct cpi_pool *pool, uint32_t seen, bool awaits)
{
    if (!awaits && cpi_depot_was_drained(&pool->depot, seen))
        return cpi_depot_drains(&pool->depot) % 2 == 0;
    return cpi_pool_await_drain(pool, seen) || replenish(pool);
}

void *cpi_pool_look(struct cpi_pool *pool, struct cpi_cache *cache, bool awaits)
{
    uint32_t seen;
    void *slot;

    do {
        seen = cpi_depot_drains(&pool->depot);
        slot = cpi_pool_take(pool, cache);
    } while (slot == NULL && is_more(pool, seen, awaits));
    return slot;
}

/*
 * Between looking into one place and looking into the next a slot may have moved from the second
 * to the first.  So nothing was to be had only if nothing moved from before the look until every
 * operation that was inside after it has left.  At the end of the look each slot was live, or in
 * the hands of one of those, and their exchanges are counted.
 *
 * The caller has passed through its cache, the depot and the fresh slots in vain.  A slot may
 * have come there after that and before the first activity, so each look begins there again.
 *
 * In an exact pool a look does not reach what an owner had loaded that was inside then, or the
 * caller itself while a stealing thread had its cache: if that is still so, the alloc looks again.
 *
 * A thread that was stopped inside is waited for, but not for ever.  Threads that go on using
 * their loaded magazines are not waited for, as slack makes up for all that any look saw.
 */
CPI_COLD void *cpi_pool_look_again(struct cpi_pool *pool, struct cpi_cache *cache)
{
    struct cpi_backoff backoff = {pool->stall_limit, 0, 0};
    unsigned unsettled = 0;

    for (;;) {
        struct cpi_activity before;
        struct cpi_activity after;
        void *slot;

        cpi_await_activity(&pool->registry, &before);
        slot = cpi_pool_look(pool, cache, true);
        if (slot == NULL)
            slot = take_slack(pool, cache);
        if (slot != NULL)
            return slot;
        if (!cpi_await_inside(&pool->registry, &backoff))
            break;
        cpi_await_activity(&pool->registry, &after);
        if (after.moves == before.moves && (!pool->registry.exact || after.left == 0) &&
            (after.loaded == before.loaded || ++unsettled == CPI_UNSETTLED))
            return NULL;
        if (!cpi_await_pause(&backoff))
            break;
    }
    cpi_fetch_add(&pool->stalls, 1u, relaxed); /* [count] */
    return NULL;
}

static void *take_any(struct cpi_pool *pool, struct cpi_cache *cache)
{
    void *slot = cpi_pool_take(pool, cache);

    return CPI_LIKELY(slot != NULL) ? slot : cpi_pool_look_again(pool, cache);
}

/* --- What is left --- */

unsigned cpi_pool_left(const struct cpi_pool *pool, const struct cpi_cache *cache)
{
    uint64_t bounds = cpi_slab_bounds(&pool->slab);
    bool more = CPI_BOUNDS_FRESH(bounds) < CPI_BOUNDS_CAPACITY(bounds) ||
                (pool->grows && CPI_BOUNDS_CAPACITY(bounds) < pool->slab.most);
    bool slots = (cache != NULL && cpi_cache_rounds(cache) > 0) ||
                 cpi_depot_has_stocked(&pool->depot) || cpi_depot_partial_rounds(&pool->depot) > 0;

    return (slots ? CPI_LEFT_SLOTS : 0) | (more ? CPI_LEFT_MORE : 0);
}

bool cpi_pool_has_any(const struct cpi_pool *pool)
{
    size_t i;

    for (i = 0; i < cpi_registry_made(&pool->registry); i++)
        if (cpi_cache_estimate(cpi_registry_cache(&pool->registry, i)) > 0)
            return true;
    return cpi_pool_left(pool, NULL) != 0;
}

/* --- The plain way, in every mode --- */

void *cpi_pool_alloc_slot(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call)
{
    void *slot;

    if (CPI_LIKELY(cache != NULL))
        cpi_pool_note_exchange(pool, cache);
    do {
        slot = take_any(pool, cache);
        cpi_pool_moved(pool, cache, slot);
    } while (slot != NULL && !cpi_pool_passes(pool, slot, call));
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

static void free_slot(struct cpi_pool *pool, void *slot, struct cpi_cache *cache,
                      struct cpi_call call)
{
    cpi_pool_free_by(cpi_pool_give, pool, cache, slot, call);
}

const struct cpi_way cpi_plain_way = {.alloc = cpi_pool_alloc_slot, .free = free_slot};
