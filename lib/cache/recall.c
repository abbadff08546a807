/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recall.c - stealing threads, and the protocol of exact pools.
 *
 * ORDERING TABLE
 *   lock   | locked_by CAS to token | seq_cst | recall.h's check | that a thread is stealing
 *   look   | busy load           | seq_cst | recall.h's inside left | what the owner did inside
 *   unlock | locked_by store 0     | release | recall.h's check, lock | what was stolen
 *   barrier | membarrier(2)      | -       | recall.h's inside check | each side's first word
 *   inside | busy, calls, turns, holder load | acquire | recall.h's left, registry_list.c's leave,
 *                                                       wait_way.c's rest | all that the
 *                                                       operation did that has left
 *   forked | busy load in the child of a fork | acquire | recall.h's left, cache.c's show,
 *                                                       cache.h's show | all that the owner did
 *   none   | locked_by, busy, calls in the child of a fork | relaxed | - | -
 *   shown  | entry count, loaded load | acquire | cache_swap.h's show | the mark of the owner
 *   again  | CAS failure of a lock | relaxed | - | -
 *   hint   | counter and frees load | acquire | depot.h's account, cache.h's frees | what it counts
 *   user   | user, visible, kind load; locked_by and holder, for our own token | relaxed | - | -
 *   fold   | recalls fetch-and-add | relaxed | - | -
 */
#include "cache/recall.h"

#include "base/atomic.h"
#include "host/os.h"
#include "host/thread.h"

/* Looks at an owner that is inside before it is left alone. */
#ifndef CPI_LOOKS /* a model checker wants few */
#define CPI_LOOKS 500u
#endif

/* Caches that one recall locks at a time. */
#define CPI_LOCKS 64u

bool cpi_recall_asymmetric;

void cpi_recall_startup(void)
{
    cpi_recall_asymmetric = cpi_os_barrier_ready();
}

void cpi_recall_barrier(struct cpi_registry *registry)
{
    if (!cpi_recall_has_barrier())
        return;
    cpi_fetch_add(&registry->barriers, (uint64_t)1, relaxed); /* [fold] */
    cpi_os_barrier();                                         /* [barrier] */
}

void cpi_recall_flush(struct cpi_cache *cache)
{
    unsigned times = 0;

    while (!cpi_recall_enter(cache))
        cpi_os_back_off(times++);
    cpi_cache_flush(cache);
    cpi_recall_leave(cache);
}

static uint32_t detach_loaded(struct cpi_cache *cache, struct cpi_counters *counters)
{
    (void)counters;
    return cpi_cache_detach(cache);
}

static void flush_vanished(struct cpi_cache *cache, bool vanished)
{
    if (vanished)
        cpi_cache_flush(cache);
}

const struct cpi_owner cpi_recall_owner = {detach_loaded, cpi_recall_flush, flush_vanished};

/* Gives a magazine that the stealing thread has.  Returns true if it had rounds. */
static bool hand_back(struct cpi_registry *registry, struct cpi_uncached *stealer, uint32_t node)
{
    bool rounds = cpi_magazine_count(cpi_depot_magazine(registry->depot, node)) != 0;

    cpi_depot_give(registry->depot, &stealer->counters, node);
    if (rounds)
        cpi_fetch_add(&registry->recalls, 1u, relaxed); /* [fold] */
    return rounds;
}

bool cpi_recall_spare(struct cpi_registry *registry, struct cpi_uncached *stealer)
{
    size_t i;

    for (i = 0; i < cpi_registry_made(registry); i++) {
        uint32_t node;

        while ((node = cpi_cache_steal(cpi_registry_cache(registry, i))) != 0)
            if (hand_back(registry, stealer, node))
                return true;
    }
    return false;
}

static uint32_t busy(const struct cpi_cache *cache)
{
    return cpi_load(&cache->busy, acquire); /* [inside] */
}

/* Whether it was the calling thread that went inside last. */
static bool is_ours(const struct cpi_cache *cache)
{
    return cpi_load(&cache->user, relaxed) == cpi_thread_token(); /* [user] */
}

/* Rounds that a cache shows, or might show in a typed pool's entry. */
static uintptr_t shown(const struct cpi_cache *cache)
{
    const cpool_cache_t *entry = cpi_load(&cache->visible, relaxed); /* [user] */

    if (entry == NULL && is_ours(cache))
        entry = cpi_cache_active(cache);
    if (entry != NULL)
        return cpi_word_load(&entry->count, acquire); /* [shown] */
    return cpi_load(&cache->loaded, acquire) != 0 ? cache->depot->limit : 0; /* [shown] */
}

/* Whether an operation of the calling thread that a signal interrupted has the
 * cache: as its owner, or as a stealing thread. */
static bool is_interrupted(const struct cpi_cache *cache)
{
    uintptr_t locked_by = cpi_load(&cache->locked_by, relaxed); /* [user] */
    const struct cpi_uncached *stealer = (const struct cpi_uncached *)locked_by;

    if (stealer != NULL && cpi_load(&stealer->holder, relaxed) == cpi_thread_token()) /* [user] */
        return true;
    return busy(cache) % 2 != 0 && is_ours(cache);
}

static size_t all_shown(const struct cpi_registry *registry)
{
    size_t rounds = 0;
    size_t i;

    for (i = 0; i < cpi_registry_made(registry); i++)
        rounds += shown(cpi_registry_cache(registry, i));
    return rounds;
}

static uint32_t turns(const struct cpi_uncached *uncached)
{
    return cpi_load(&uncached->turns, acquire); /* [inside] */
}

/* Whether another thread than the caller holds the place. */
static bool is_held(const struct cpi_uncached *uncached)
{
    uintptr_t holder = cpi_load(&uncached->holder, acquire); /* [inside] */

    return holder != 0 && holder != cpi_thread_token();
}

/* An operation has at most two magazines in its hands that nobody else sees: while
 * the depot merges them. */
size_t cpi_recall_out_of_reach(const struct cpi_registry *registry)
{
    size_t hands = 2 * (size_t)registry->depot->limit;
    size_t rounds = 0;
    size_t i;

    for (i = 0; i < cpi_registry_uncached_used(registry); i++)
        rounds += is_held(&registry->uncached[i]) ? hands : 0;
    /* The mark first: it goes after what the owner had in its hands is shown. */
    for (i = 0; i < cpi_registry_made(registry); i++)
        rounds += busy(cpi_registry_cache(registry, i)) % 2 != 0 ? hands : 0;
    return rounds + all_shown(registry);
}

static uint64_t exchanged(const struct cpi_counters *counters)
{
    return cpi_load(&counters->stocked_in, acquire) +  /* [hint] */
           cpi_load(&counters->stocked_out, acquire) + /* [hint] */
           cpi_load(&counters->empty_in, acquire) +    /* [hint] */
           cpi_load(&counters->empty_out, acquire) +   /* [hint] */
           cpi_load(&counters->partials, acquire) +    /* [hint] */
           cpi_load(&counters->swaps, acquire);        /* [hint] */
}

static void give_spares(struct cpi_registry *registry, struct cpi_cache *cache,
                        struct cpi_uncached *stealer)
{
    uint32_t node;

    while ((node = cpi_cache_steal(cache)) != 0)
        cpi_depot_give(registry->depot, &stealer->counters, node);
}

void cpi_recall_idle(struct cpi_registry *registry, struct cpi_uncached *stealer)
{
    size_t i;

    CPI_ASSERT(cpi_lock_is_held());
    for (i = 0; i < cpi_registry_made(registry); i++) {
        struct cpi_cache *cache = cpi_registry_cache(registry, i);
        uint64_t now = exchanged(&cache->counters);

        if (now == cache->exchanges)
            give_spares(registry, cache, stealer);
        cache->exchanges = now;
    }
}

/* Mixes a number into a sum such that it matters where it stood: one round more
 * here and one less there must not look like no change. */
static uint64_t mix(uint64_t sum, uint64_t number)
{
    return (sum + number) * UINT64_C(0x9e3779b97f4a7c15);
}

void cpi_recall_activity(const struct cpi_registry *registry, struct cpi_activity *now)
{
    bool slack = registry->slab->slots > registry->slab->most;
    size_t i;

    now->moves = cpi_slab_fresh(registry->slab);
    now->loaded = 0;
    now->left = 0;
    for (i = 0; i < cpi_registry_uncached_used(registry); i++)
        now->moves = mix(now->moves, exchanged(&registry->uncached[i].counters));
    for (i = 0; i < cpi_registry_made(registry); i++) {
        const struct cpi_cache *cache = cpi_registry_cache(registry, i);
        uintptr_t rounds = shown(cache);

        now->moves = mix(now->moves, exchanged(&cache->counters));
        now->moves = mix(now->moves, cpi_load(&cache->frees, acquire)); /* [hint] */
        now->left += is_interrupted(cache) ? 0 : rounds;
        if (registry->exact)
            now->moves = mix(now->moves, rounds);
        else if (slack)
            now->loaded = mix(now->loaded, rounds);
    }
}

bool cpi_recall_pause(struct cpi_backoff *backoff)
{
    if (backoff->times >= CPI_GIVE_WAY) {
        uint64_t now = cpi_os_now();

        if (backoff->deadline == 0)
            backoff->deadline = now + backoff->limit;
        else if (now >= backoff->deadline)
            return false;
    }
    cpi_os_back_off(backoff->times++);
    return true;
}

/* An operation that follows the one seen needs no waiting.  It took the slots in its
 * hands after the caller had looked, and its exchanges are counted. */
static bool await_owner(const struct cpi_cache *cache, struct cpi_backoff *backoff)
{
    uint32_t seen = busy(cache);

    while (seen % 2 != 0 && !is_ours(cache) && busy(cache) == seen)
        if (!cpi_recall_pause(backoff))
            return false;
    return true;
}

static bool await_uncached(const struct cpi_uncached *uncached, struct cpi_backoff *backoff)
{
    uint32_t seen = turns(uncached);

    while (is_held(uncached) && turns(uncached) == seen)
        if (!cpi_recall_pause(backoff))
            return false;
    return true;
}

bool cpi_recall_await(const struct cpi_registry *registry, struct cpi_backoff *backoff)
{
    size_t i;

    for (i = 0; i < cpi_registry_uncached_used(registry); i++)
        if (!await_uncached(&registry->uncached[i], backoff))
            return false;
    for (i = 0; i < cpi_registry_made(registry); i++)
        if (!await_owner(cpi_registry_cache(registry, i), backoff))
            return false;
    return true;
}

static bool is_at_rest(const struct cpi_cache *cache)
{
    return busy(cache) % 2 == 0 && cpi_load(&cache->calls, acquire) == 0; /* [inside] */
}

void cpi_recall_await_rest(const struct cpi_registry *registry)
{
    unsigned times = 0;
    size_t i;

    for (i = 0; i < cpi_registry_uncached_used(registry); i++)
        while (is_held(&registry->uncached[i]))
            cpi_os_back_off(times++);
    for (i = 0; i < cpi_registry_made(registry); i++)
        while (!is_at_rest(cpi_registry_cache(registry, i)))
            cpi_os_back_off(times++);
}

bool cpi_recall_lock(struct cpi_cache *cache, const struct cpi_uncached *place)
{
    uintptr_t none = 0;

    return cpi_cas_strong(&cache->locked_by, &none, (uintptr_t)place, /* [lock] */
                          seq_cst, relaxed);                          /* [again] */
}

bool cpi_recall_is_inside(const struct cpi_cache *cache)
{
    return cpi_load(&cache->busy, seq_cst) % 2 != 0; /* [look] */
}

void cpi_recall_unlock(struct cpi_cache *cache)
{
    cpi_store(&cache->locked_by, 0, release); /* [unlock] */
}

/* An owner that is inside when its cache is locked soon leaves, and does not come in
 * again, unless it was stopped there. */
static bool owner_left(const struct cpi_cache *cache)
{
    unsigned looks;

    for (looks = 0; looks < CPI_LOOKS; looks++) {
        if (!cpi_recall_is_inside(cache))
            return true;
        CPI_PAUSE();
    }
    return false;
}

/* Takes what a locked cache has loaded, unless its owner stays inside. */
static bool revoke(struct cpi_registry *registry, struct cpi_cache *cache,
                   struct cpi_uncached *stealer)
{
    uint32_t node = 0;

    if (owner_left(cache))
        node = cpi_load(&cache->kind, relaxed)->detach(cache, &stealer->counters); /* [user] */
    cpi_recall_unlock(cache);
    return node != 0 && hand_back(registry, stealer, node);
}

bool cpi_recall_loaded(struct cpi_registry *registry, struct cpi_uncached *stealer)
{
    struct cpi_cache *locked[CPI_LOCKS];
    bool found = false;
    size_t i = 0;

    while (i < cpi_registry_made(registry) && !found) {
        unsigned n = 0;

        for (; i < cpi_registry_made(registry) && n < CPI_LOCKS; i++) {
            struct cpi_cache *cache = cpi_registry_cache(registry, i);

            if (shown(cache) != 0 && cpi_recall_lock(cache, stealer))
                locked[n++] = cache;
        }
        if (n > 0)
            cpi_recall_barrier(registry);
        while (n > 0)
            if (revoke(registry, locked[--n], stealer))
                found = true;
    }
    return found;
}

bool cpi_recall_forked(struct cpi_cache *cache)
{
    uint32_t mark = cpi_load(&cache->busy, acquire); /* [forked] */
    bool inside = mark % 2 != 0;
    bool locked = cpi_load(&cache->locked_by, relaxed) != 0; /* [none] */

    cpi_store(&cache->locked_by, 0, relaxed); /* [none] */
    if (!is_ours(cache))
        cpi_store(&cache->calls, 0u, relaxed); /* [none] */
    else if (inside)
        return false;
    if (inside || locked)
        cpi_cache_abandon(cache);
    if (inside) {
        cpi_cache_flush_spares(cache);
        cpi_store(&cache->busy, mark + 1, relaxed); /* [none] */
    }
    return inside || locked;
}

bool cpi_recall_uncached_forked(struct cpi_registry *registry)
{
    bool any = false;
    size_t i;

    for (i = 0; i < cpi_registry_uncached_used(registry); i++)
        if (is_held(&registry->uncached[i])) {
            cpi_registry_vacate(&registry->uncached[i]);
            any = true;
        }
    return any;
}
