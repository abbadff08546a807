/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_alloc.c - allocating and freeing, when the fast path cannot.
 *
 * ORDERING TABLE
 *   count | stalls fetch-and-add | relaxed | - | -
 *   mark  | calls store 1        | relaxed | - | -
 *   rest  | calls store 0        | release | recall.c's inside | the owner's last access
 *
 * [mark] needs no order of its own: the slot that is given afterwards publishes it.
 */
#include "pool/pool_drain.h"
#include "pool/pool_alloc.h"
#include "pool/pool_info.h"
#include "pool/pool_report.h"

#include "base/atomic.h"
#include "host/os.h"
#include "base/probes.h"
#include "cache/recall.h"

/* --- Without a cache --- */

static void *alloc_uncached(struct cpi_pool *pool)
{
    uint32_t seen = cpi_pool_drains(pool);
    struct cpi_uncached *uncached = cpi_registry_enter(&pool->registry);
    void *slot = cpi_depot_alloc_slot(&pool->depot, &uncached->counters);
    uintptr_t index;

    if (slot == NULL && !cpi_depot_was_drained(&pool->depot, seen) &&
        cpi_cache_bump(&pool->slab, &pool->depot, 1, 0, &index) == 1)
        slot = cpi_slab_slot(&pool->slab, index);
    cpi_registry_leave(&pool->registry, uncached);
    return slot;
}

static bool free_uncached(struct cpi_pool *pool, void *slot)
{
    struct cpi_uncached *uncached = cpi_registry_enter(&pool->registry);
    bool done = cpi_depot_free_slot(&pool->depot, &uncached->counters, slot);

    cpi_registry_leave(&pool->registry, uncached);
    return done;
}

/* --- With a cache --- */

/* Goes inside the cache.  Returns false if the operation has to do without. */
static inline bool go_inside(struct cpi_cache *cache)
{
    return cache != NULL && cpi_recall_enter(cache);
}

static void *take_slot(struct cpi_pool *pool, struct cpi_cache *cache)
{
    void *slot;

    if (!go_inside(cache))
        return alloc_uncached(pool);
    slot = cpi_cache_alloc(cache);
    cpi_recall_leave(cache);
    return slot;
}

static bool give_slot(struct cpi_pool *pool, struct cpi_cache *cache, void *slot)
{
    bool done;

    if (!go_inside(cache))
        return free_uncached(pool, slot);
    done = cpi_cache_free(cache, slot);
    cpi_recall_leave(cache);
    return done;
}

/*
 * In waitable pools a thread is not done when another one can have the slot: it looks
 * whether to call a waiter.  Until then a mark, or the uncached operation's place, keeps
 * cpool_destroy waiting, because the other thread may have all slots and destroy the
 * pool.
 */
static bool give_uncached(struct cpi_pool *pool, void *slot)
{
    struct cpi_uncached *uncached = cpi_registry_enter(&pool->registry);
    bool done = cpi_pool_hand_over(pool, slot, NULL) ||
                cpi_depot_free_slot(&pool->depot, &uncached->counters, slot);

    cpi_pool_call_waiter(pool, NULL);
    cpi_registry_leave(&pool->registry, uncached);
    return done;
}

/* A waiter that is to be called finds the slot soonest in the depot. */
static bool give_and_call(struct cpi_pool *pool, struct cpi_cache *cache, void *slot)
{
    bool done;

    if (cache == NULL)
        return give_uncached(pool, slot);
    cpi_store(&cache->calls, 1u, relaxed); /* [mark] */
    done = cpi_pool_hand_over(pool, slot, NULL) ||
           give_slot(pool, cpi_pool_has_to_call(pool) ? NULL : cache, slot);
    cpi_pool_call_waiter(pool, cache);
    cpi_store(&cache->calls, 0u, release); /* [rest] */
    return done;
}

/* --- When the pool is dry --- */

#define CPI_UNSETTLED CPI_GIVE_WAY /* looks at what others never show twice the same */

/*
 * A slot beyond the capacity, in place of one that another thread has loaded and may
 * not be revoked of.  There are no more of them than seem to be out of reach, which is
 * rather too many than too few.  Several at a time, as to count those means to look at
 * all caches.
 */
static void *take_slack(struct cpi_pool *pool, struct cpi_cache *cache)
{
    uintptr_t beyond = pool->slab.slots - pool->slab.most;
    uintptr_t missed;
    uintptr_t index;
    void *slot = NULL;

    if (beyond == 0)
        return NULL;
    missed = cpi_recall_out_of_reach(&pool->registry);
    if (missed < beyond)
        beyond = missed;
    if (cache == NULL) {
        if (cpi_cache_bump(&pool->slab, &pool->depot, 1, beyond, &index) == 1)
            slot = cpi_slab_slot(&pool->slab, index);
    } else if (cpi_recall_enter(cache)) {
        if (cpi_cache_refill_fresh(cache, beyond))
            slot = cpi_cache_pop(cache);
        cpi_recall_leave(cache);
    }
    return slot;
}

bool cpi_pool_recall(struct cpi_pool *pool, struct cpi_uncached *uncached)
{
    bool recalled;

    cpi_depot_set_dry(&pool->depot, true);
    recalled = cpi_recall_spare(&pool->registry, uncached) ||
               (pool->registry.exact && cpi_recall_loaded(&pool->registry, uncached));
    CPI_PROBE2(recall, pool->handle, recalled);
    return recalled;
}

static bool recall(struct cpi_pool *pool)
{
    struct cpi_uncached *uncached = cpi_registry_enter(&pool->registry);
    bool recalled = cpi_pool_recall(pool, uncached);

    cpi_registry_leave(&pool->registry, uncached);
    return recalled;
}

static bool replenish(struct cpi_pool *pool)
{
    return cpi_pool_end_quarantine(pool) || cpi_pool_grow_by_itself(pool) || recall(pool);
}

/* Whether it is worth looking again, having found nothing: something was made or found
 * now.  A thread that drains the depot is awaited, or calls waiters when it is done. */
static bool is_more(struct cpi_pool *pool, uint32_t seen, bool awaits)
{
    if (!awaits && cpi_depot_was_drained(&pool->depot, seen))
        return cpi_pool_drains(pool) % 2 == 0;
    return cpi_pool_await_drain(pool, seen) || replenish(pool);
}

void *cpi_pool_look(struct cpi_pool *pool, struct cpi_cache *cache, bool awaits)
{
    uint32_t seen;
    void *slot;

    do {
        seen = cpi_pool_drains(pool);
        slot = take_slot(pool, cache);
    } while (slot == NULL && is_more(pool, seen, awaits));
    return slot;
}

/*
 * Between looking into one place and looking into the next a slot may have moved from
 * the second to the first.  So nothing was to be had only if nothing moved from before
 * the look until every operation that was inside after it has left.  At the end of the
 * look each slot was live, or in the hands of one of those, and their exchanges are
 * counted.
 *
 * In an exact pool a look does not reach what an owner had loaded that was inside
 * then, or the caller itself while a stealing thread had its cache: if that is still so, the
 * alloc looks again.
 *
 * A thread that was stopped inside is waited for, but not for ever.  Threads that go on
 * using their loaded magazines are not waited for, as slack makes up for all that any
 * look saw.
 */
CPI_COLD static void *look_again(struct cpi_pool *pool, struct cpi_cache *cache)
{
    struct cpi_backoff backoff = {pool->stall_limit, 0, 0};
    unsigned unsettled = 0;

    for (;;) {
        struct cpi_activity before;
        struct cpi_activity after;
        uint64_t put_off = cpi_quarantine_moves(&pool->quarantine);
        void *slot;

        cpi_recall_activity(&pool->registry, &before);
        slot = cpi_pool_look(pool, cache, true);
        if (slot == NULL)
            slot = take_slack(pool, cache);
        if (slot != NULL)
            return slot;
        if (!cpi_recall_await(&pool->registry, &backoff))
            break;
        cpi_recall_activity(&pool->registry, &after);
        if (after.moves == before.moves && put_off == cpi_quarantine_moves(&pool->quarantine) &&
            (!pool->registry.exact || after.left == 0) &&
            (after.loaded == before.loaded || ++unsettled == CPI_UNSETTLED))
            return NULL;
        if (!cpi_recall_pause(&backoff))
            break;
    }
    cpi_fetch_add(&pool->stalls, 1u, relaxed); /* [count] */
    return NULL;
}

static void *take_any(struct cpi_pool *pool, struct cpi_cache *cache)
{
    void *slot = take_slot(pool, cache);

    return CPI_LIKELY(slot != NULL) ? slot : look_again(pool, cache);
}

/* --- One slot, in every mode --- */

void *cpi_pool_alloc_slot(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call)
{
    void *slot;

    if (CPI_LIKELY(cache != NULL))
        cpi_pool_sample(pool, cache);
    do {
        slot = take_any(pool, cache);
        if (CPI_UNLIKELY(pool->waitable))
            cpi_pool_call_after_alloc(pool, cache, slot);
    } while (slot != NULL && !cpi_pool_passes(pool, slot, call));
    return slot;
}

int cpi_pool_judge(const struct cpi_pool *pool, const void *slot, const char *function,
                   uintptr_t *index)
{
    static const int codes[] = {
        [CPI_PLACE_UNUSED] = CPOOL_EUNUSED,
        [CPI_PLACE_INSIDE] = CPOOL_EMISALIGNED,
        [CPI_PLACE_OUTSIDE] = CPOOL_EFOREIGN,
    };
    static const int block_codes[] = {
        [CPI_BLOCK_NONE] = 0,
        [CPI_BLOCK_FREED] = CPOOL_EDOUBLEFREE,
        [CPI_BLOCK_LIVE] = CPOOL_EBLOCK,
    };
    enum cpi_place place = cpi_slab_place(&pool->slab, slot, index);
    int code;

    if (CPI_LIKELY(place == CPI_PLACE_SLOT))
        return 0;
    code = pool->fallback != NULL ? block_codes[cpi_fallback_find(pool->fallback, slot)] : 0;
    code = code != 0 ? code : codes[place];
    cpi_pool_report_address(code, function, pool, slot, *index);
    return code;
}

/* A block of malloc's in the place of a slot, if the pool may hand one out. */
static void *fall_back(struct cpi_pool *pool)
{
    return pool->fallback != NULL ? cpi_fallback_take(pool->fallback) : NULL;
}

void *cpi_pool_alloc(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call)
{
    void *slot = NULL;

    if (CPI_LIKELY(!pool->fakes))
        slot = cpi_pool_alloc_slot(pool, cache, call);
    return CPI_LIKELY(slot != NULL) ? slot : fall_back(pool);
}

/* The address is no slot.  Until a waiter is called the place keeps cpool_destroy waiting, as in
 * give_uncached. */
CPI_COLD static bool free_block(struct cpi_pool *pool, void *block, const char *function)
{
    bool given = false;

    if (pool->fallback != NULL) {
        struct cpi_uncached *uncached = cpi_registry_enter(&pool->registry);

        given = cpi_fallback_give(pool->fallback, block) == CPI_BLOCK_LIVE;
        if (given && pool->waitable)
            cpi_pool_call_waiter(pool, NULL);
        cpi_registry_leave(&pool->registry, uncached);
    }
    if (!given)
        (void)cpi_pool_validate(pool, block, function); /* which reports it */
    return given;
}

bool cpi_pool_free(struct cpi_pool *pool, struct cpi_cache *cache, void *slot, struct cpi_call call)
{
    const struct cpi_gate *gate;
    uintptr_t index;
    bool given;

    if (slot == NULL)
        return false;
    if (CPI_UNLIKELY(cpi_slab_place(&pool->slab, slot, &index) != CPI_PLACE_SLOT))
        return free_block(pool, slot, call.function);
    gate = cpi_pool_gate(pool);
    if (CPI_UNLIKELY(gate != NULL)) {
        if (!gate->given(pool, slot, call))
            return false;
        if (gate->keep != NULL) {
            gate->keep(pool, slot);
            return true;
        }
    }
    given = CPI_UNLIKELY(pool->waitable) ? give_and_call(pool, cache, slot)
                                         : give_slot(pool, cache, slot);
    /* From here on another thread may have destroyed the pool, unless there was no place
     * for the slot: plain pools learn of double frees only in this way. */
    if (!given)
        cpi_pool_report_slot(CPOOL_EDOUBLEFREE, call.function, pool, index);
    return given;
}

void *cpi_pool_take(struct cpi_pool *pool, struct cpi_cache *cache)
{
    return CPI_UNLIKELY(pool->fakes) ? fall_back(pool) : take_slot(pool, cache);
}

void *cpi_pool_look_waiting(struct cpi_pool *pool)
{
    void *slot = CPI_UNLIKELY(pool->fakes) ? NULL : cpi_pool_look(pool, NULL, false);

    return slot != NULL ? slot : fall_back(pool);
}
