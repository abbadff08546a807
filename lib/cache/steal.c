/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steal.c - the other side of the mark: stealing threads, and those that wait for an owner.
 *
 * ORDERING TABLE
 *   barrier | membarrier(2)       | -       | mark.h's inside, check | each side's first word
 *   shown   | entry count, loaded load | acquire | cache_edge.h's show | the mark of the owner
 *   visible | visible load        | relaxed | - | -
 *   fold    | issued, recalls fetch-and-add | relaxed | - | -
 *   inside  | calls load          | acquire | wait_way.c's rest | all that the operation did that
 *                                                                 has left
 *   hint    | frees load          | acquire | cache.h's frees, mark.h's left | what it counts
 */
#include "cache/steal.h"

#include "base/atomic.h"
#include "cache/mark.h"
#include "host/os.h"

/* Looks at an owner that is inside before it is left alone. */
#ifndef CPI_LOOKS /* a model checker wants few */
#define CPI_LOOKS 500u
#endif

/* Caches that are locked at a time. */
#define CPI_LOCKS 64u

/* --- The mark --- */

bool cpi_mark_has_barrier;

void cpi_mark_startup(void)
{
    cpi_mark_has_barrier = cpi_os_barrier_ready();
}

void cpi_mark_barrier(_Atomic uint64_t *issued)
{
    if (!cpi_mark_has_barrier)
        return;
    cpi_fetch_add(issued, (uint64_t)1, relaxed); /* [fold] */
    cpi_os_barrier();                            /* [barrier] */
}

void cpi_mark_flush(struct cpi_cache *cache)
{
    unsigned times = 0;

    while (!cpi_mark_try_enter(cache))
        cpi_os_back_off(times++);
    cpi_cache_flush(cache);
    cpi_mark_leave(cache);
}

uintptr_t cpi_mark_shown(const struct cpi_cache *cache)
{
    const cpool_cache_t *entry = cpi_load(&cache->visible, relaxed); /* [visible] */

    if (entry == NULL && cache == cpi_registry_known_cache(cache->registry))
        entry = cpi_cache_active(cache);
    if (entry != NULL)
        return cpi_word_load(&entry->count, acquire); /* [shown] */
    return cpi_load(&cache->loaded, acquire) != 0 ? cache->depot->limit : 0; /* [shown] */
}

/* --- Stealing --- */

/* Gives a magazine that the stealing thread has.  Returns true if it had rounds. */
static bool hand_back(struct cpi_registry *registry, struct cpi_counters *counters, uint32_t node)
{
    bool rounds = cpi_magazine_count(cpi_depot_magazine(registry->depot, node)) != 0;

    cpi_depot_give(registry->depot, counters, node);
    if (rounds)
        cpi_fetch_add(&registry->recalls, 1u, relaxed); /* [fold] */
    return rounds;
}

bool cpi_steal_spare(struct cpi_registry *registry, struct cpi_counters *counters)
{
    size_t i;

    for (i = 0; i < cpi_registry_made(registry); i++) {
        uint32_t node;

        while ((node = cpi_cache_steal(cpi_registry_cache(registry, i))) != 0)
            if (hand_back(registry, counters, node))
                return true;
    }
    return false;
}

/* An owner that is inside when its cache is locked soon leaves, and does not come in
 * again, unless it was stopped there. */
static bool owner_left(const struct cpi_cache *cache)
{
    unsigned looks;

    for (looks = 0; looks < CPI_LOOKS; looks++) {
        if (!cpi_mark_is_inside(cache))
            return true;
        CPI_PAUSE();
    }
    return false;
}

/* Takes what a locked cache has loaded.  Returns false if its owner stays inside. */
static bool revoke(struct cpi_registry *registry, struct cpi_cache *cache,
                   struct cpi_counters *counters, bool *found)
{
    bool left = owner_left(cache);
    uint32_t node = 0;

    if (left)
        node = cpi_cache_detach(cache);
    cpi_mark_unlock(cache);
    if (node != 0 && hand_back(registry, counters, node))
        *found = true;
    return left;
}

/*
 * Whether an owner that stayed inside has left by now.  It has told a waiter of what it gave back,
 * which may have found the cache locked, and sleeps.  So nobody is left alone before this says
 * no: an owner that leaves later tells a waiter that finds the cache unlocked.
 */
static bool has_left(struct cpi_registry *registry, struct cpi_cache *const *kept, unsigned n)
{
    bool left = false;

    if (n > 0)
        cpi_mark_barrier(&registry->barriers);
    while (n > 0)
        left = !cpi_mark_is_inside(kept[--n]) || left;
    return left;
}

/* Of some caches from this one on.  Returns the number of the next one. */
static size_t steal_some(struct cpi_registry *registry, struct cpi_counters *counters, size_t first,
                         bool *found)
{
    struct cpi_cache *locked[CPI_LOCKS];
    unsigned kept;
    size_t i;

    do {
        unsigned n = 0;
        unsigned k;

        for (i = first; i < cpi_registry_made(registry) && n < CPI_LOCKS; i++) {
            struct cpi_cache *cache = cpi_registry_cache(registry, i);

            if (cpi_mark_shown(cache) != 0 && cpi_mark_lock(cache))
                locked[n++] = cache;
        }
        if (n > 0)
            cpi_mark_barrier(&registry->barriers);
        for (k = kept = 0; k < n; k++)
            if (!revoke(registry, locked[k], counters, found))
                locked[kept++] = locked[k];
    } while (has_left(registry, locked, kept));
    return i;
}

CPI_COLD bool cpi_steal_loaded(struct cpi_registry *registry, struct cpi_counters *counters)
{
    bool found = false;
    size_t i = 0;

    while (i < cpi_registry_made(registry) && !found)
        i = steal_some(registry, counters, i, &found);
    return found;
}

CPI_COLD void cpi_steal_all(struct cpi_registry *registry, struct cpi_counters *counters)
{
    size_t most = cpi_depot_made(registry->depot); /* threads that work make spares meanwhile */
    size_t i = 0;
    bool found;

    CPI_ASSERT(cpi_lock_is_held());
    while (most > 0 && cpi_steal_spare(registry, counters))
        most--;
    while (registry->exact && i < cpi_registry_made(registry))
        i = steal_some(registry, counters, i, &found);
}

/* --- Waiting --- */

static size_t all_shown(const struct cpi_registry *registry)
{
    size_t rounds = 0;
    size_t i;

    for (i = 0; i < cpi_registry_made(registry); i++)
        rounds += cpi_mark_shown(cpi_registry_cache(registry, i));
    return rounds;
}

/* An operation has at most two magazines in its hands that nobody else sees: while
 * the depot merges them. */
CPI_COLD size_t cpi_await_out_of_reach(const struct cpi_registry *registry)
{
    size_t hands = 2 * (size_t)registry->depot->limit;
    size_t rounds = cpi_depot_in_flight(cpi_depot_flights(registry->depot)) * hands;
    size_t i;

    /* The mark first: it goes after what the owner had in its hands is shown. */
    for (i = 0; i < cpi_registry_made(registry); i++)
        rounds += cpi_mark_is_seen(cpi_registry_cache(registry, i)) ? hands : 0;
    return rounds + all_shown(registry);
}

/* Mixes a number into a sum such that it matters where it stood: one round more
 * here and one less there must not look like no change. */
static uint64_t mix(uint64_t sum, uint64_t number)
{
    return (sum + number) * UINT64_C(0x9e3779b97f4a7c15);
}

CPI_COLD void cpi_await_activity(const struct cpi_registry *registry, struct cpi_activity *now)
{
    bool slack = registry->slab->slots > registry->slab->most;
    size_t i;

    now->moves = cpi_slab_fresh(registry->slab);
    now->loaded = 0;
    now->left = 0;
    now->moves = mix(now->moves, cpi_depot_moves(cpi_depot_flights(registry->depot)));
    for (i = 0; i < cpi_registry_made(registry); i++) {
        const struct cpi_cache *cache = cpi_registry_cache(registry, i);
        uintptr_t rounds = cpi_mark_shown(cache);

        now->moves = mix(now->moves, cpi_cache_moves(cache));
        now->moves = mix(now->moves, cpi_word_load(&cache->hidden.frees, acquire)); /* [hint] */
        now->left += rounds;
        if (registry->exact)
            now->moves = mix(now->moves, rounds);
        else if (slack)
            now->loaded = mix(now->loaded, rounds);
    }
}

bool cpi_await_pause(struct cpi_backoff *backoff)
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

static bool is_same(const struct cpi_cache *cache, uint32_t busy, uintptr_t frees)
{
    return (busy % 2 != 0 && cpi_mark_seen(cache) == busy) ||
           (frees % 2 != 0 && cpi_mark_frees_seen(cache) == frees) || cpi_mark_is_taking(cache);
}

/* An operation that follows the one seen needs no waiting.  It took the slots in its
 * hands after the caller had looked, and its exchanges are counted.  But a short pop is not told
 * from the next one.  It has left where any look finds none, which the owner, in a dozen
 * instructions at a time, cannot avoid for long, and the waiting is bounded. */
static bool await_owner(const struct cpi_cache *cache, struct cpi_backoff *backoff)
{
    uint32_t busy = cpi_mark_seen(cache);
    uintptr_t frees = cpi_mark_frees_seen(cache);

    while (is_same(cache, busy, frees))
        if (!cpi_await_pause(backoff))
            return false;
    return true;
}

CPI_COLD bool cpi_await_inside(const struct cpi_registry *registry, struct cpi_backoff *backoff)
{
    uint64_t flights = cpi_depot_flights(registry->depot);
    size_t i;

    while (!cpi_depot_have_left(registry->depot, flights))
        if (!cpi_await_pause(backoff))
            return false;
    for (i = 0; i < cpi_registry_made(registry); i++)
        if (!await_owner(cpi_registry_cache(registry, i), backoff))
            return false;
    return true;
}

CPI_COLD void cpi_await_rest(const struct cpi_registry *registry)
{
    unsigned times = 0;
    size_t i;

    while (cpi_depot_in_flight(cpi_depot_flights(registry->depot)) != 0)
        cpi_os_back_off(times++);
    for (i = 0; i < cpi_registry_made(registry); i++) {
        const struct cpi_cache *cache = cpi_registry_cache(registry, i);

        while (cpi_mark_is_seen(cache) || cpi_load(&cache->calls, acquire) != 0) /* [inside] */
            cpi_os_back_off(times++);
    }
}
