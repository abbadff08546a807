/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * await.c - reading what other threads do, and waiting for them.
 *
 * ORDERING TABLE
 *   inside | calls load | acquire | wait_way.c's rest | all that the operation did that has left
 *   hint   | frees load | acquire | cache.h's frees, mark.h's left | what it counts
 */
#include "cache/await.h"

#include "base/atomic.h"
#include "cache/mark.h"
#include "host/os.h"

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

static bool is_at_rest(const struct cpi_cache *cache)
{
    return !cpi_mark_is_seen(cache) && cpi_load(&cache->calls, acquire) == 0; /* [inside] */
}

CPI_COLD void cpi_await_rest(const struct cpi_registry *registry)
{
    unsigned times = 0;
    size_t i;

    while (cpi_depot_in_flight(cpi_depot_flights(registry->depot)) != 0)
        cpi_os_back_off(times++);
    for (i = 0; i < cpi_registry_made(registry); i++)
        while (!is_at_rest(cpi_registry_cache(registry, i)))
            cpi_os_back_off(times++);
}
