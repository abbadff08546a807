/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim.c - threads that close the entries of caches, and those that wait for owners.
 *
 * ORDERING TABLE
 *   barrier | membarrier(2)       | -       | cache.h's busy, room; a client's own fences | each
 *                                               side's first write; what the client publishes
 *   works   | has_barrier load, store | relaxed | - | -
 *   own     | closed load, by a thread that has counted itself | relaxed | - | -
 *   begin   | closed fetch-and-add | acq_rel | cache.c's check | an opening that came before
 *   end     | closed fetch-and-sub | release | cache.c's before | that magazines were taken
 *   scan    | active, loaded load | acquire | cache.h's show | the entry of what is loaded
 *           | entry limit load    | seq_cst | cache.c's open, close | open or closed
 *   close   | entry limit exchange 0 | seq_cst | cache.h's room, scan | closed; tells other closing
 *                                                   threads what is loaded
 *   seen    | entry count load | seq_cst | cache.h's busy, left | the rounds, or the owner's mark
 *   take    | loaded CAS to 0     | acq_rel | cache.c's out | who owns the magazine
 *   fold    | issued, reclaims fetch-and-add | relaxed | - | -
 *   inside  | busy, calls load    | acquire | cache.h's out, alloc.c's rest | what it did
 *
 * [close] and [seen] are the closing side of Dekker's rule, [busy] and [room] the owner's.
 * doc/CONCURRENCY.md 3.5 argues that, and why [take] finds the count that was seen before.
 */
#include "cache/reclaim.h"

#include "base/atomic.h"
#include "base/error.h"
#include "host/options.h"
#include "host/os.h"

/* How often to check an owner that is inside before leaving it alone. */
#ifndef CPI_LOOKS /* a model checker defines a small number */
#define CPI_LOOKS 500u
#endif

/* --- The kernel's barrier --- */

static _Atomic bool has_barrier;

void cpi_barrier_startup(void)
{
    bool wanted = cpi_options()->no_barrier == 0;

    cpi_store(&has_barrier, wanted && cpi_os_barrier_ready(), relaxed); /* [works] */
    cpi_cache_disperses = cpi_is_amd();
}

bool cpi_has_barrier(void)
{
    return cpi_load(&has_barrier, relaxed); /* [works] */
}

bool cpi_barrier_passed(void)
{
    if (CPI_LIKELY(cpi_has_barrier() && cpi_os_barrier())) /* [barrier] */
        return true;
    if (cpi_exchange(&has_barrier, false, relaxed)) /* [works] */
        cpi_tell("the system refuses membarrier, which it had granted: caches made before stay "
                 "closed, and slots in open ones come back by their threads alone");
    return false;
}

bool cpi_barrier(struct cpi_registry *registry)
{
    if (!cpi_has_barrier())
        return true;
    cpi_fetch_add(&registry->barriers, (uint64_t)1, relaxed); /* [fold] */
    return cpi_barrier_passed();                              /* [barrier] */
}

/* --- Closing --- */

unsigned cpi_reclaim_begin(struct cpi_registry *registry)
{
    cpi_fetch_add(&registry->closed, 1u, acq_rel); /* [begin] */
    return registry->forks;
}

void cpi_reclaim_end(struct cpi_registry *registry, unsigned begun)
{
    if (CPI_LIKELY(begun == registry->forks))
        cpi_fetch_add(&registry->closed, UINT32_MAX, release); /* [end] */
}

/* Closes an entry.  Returns whether there may be something to take: it was open, or a magazine is
 * loaded, or there is a full spare, which another closing thread may not have taken yet. */
static bool close_entry(struct cpi_cache *cache)
{
    cpool_cache_t *active = cpi_load(&cache->active, acquire); /* [scan] */

    if (cpi_word_load(&active->limit, seq_cst) != 0) { /* [scan] */
        (void)cpi_word_exchange(&active->limit, 0, seq_cst); /* [close] */
        return true;
    }
    return cpi_load(&cache->loaded, acquire) != 0 || cpi_cache_steal(cache, true) != 0; /* [scan] */
}

static bool close_all(const struct cpi_registry *registry)
{
    bool holds = false;

    for (size_t i = 0; i < cpi_registry_made(registry); i++)
        holds = close_entry(cpi_registry_cache(registry, i)) || holds;
    return holds;
}

static void hand_back(struct cpi_registry *registry, struct cpi_uncached *uncached, uint32_t node)
{
    if (cpi_magazine_count(cpi_depot_magazine(registry->depot, node)) != 0)
        cpi_fetch_add(&registry->reclaims, 1u, relaxed); /* [fold] */
    cpi_depot_give(registry->depot, &uncached->counters, node);
}

/* Takes a magazine if it is still loaded.  Its owner was seen outside, with `count` rounds. */
static void take_magazine(struct cpi_registry *registry, struct cpi_cache *cache, uint32_t node,
                 uintptr_t count)
{
    struct cpi_uncached uncached;

    cpi_depot_enter(registry->depot, &uncached);
    if (cpi_cas_strong(&cache->loaded, &node, 0, acq_rel, acquire)) { /* [take] [scan] */
        cpi_magazine_set_count(cpi_depot_magazine(registry->depot, node), (uint32_t)count);
        hand_back(registry, &uncached, node);
    }
    cpi_depot_leave(registry->depot, &uncached);
}

/* Returns false if the owner stayed inside. */
static bool take_loaded(struct cpi_registry *registry, struct cpi_cache *cache,
                        struct cpi_backoff *backoff)
{
    unsigned looks = 0;
    uint32_t node;

    while ((node = cpi_load(&cache->loaded, acquire)) != 0) { /* [scan] */
        const cpool_cache_t *active = cpi_load(&cache->active, acquire); /* [scan] */
        uintptr_t count = cpi_word_load(&active->count, seq_cst); /* [seen] */

        if (CPI_UNLIKELY(cpi_cache_is_fenced(cache) && !cpi_has_barrier()))
            return false;
        CPI_PAUSE();
        if ((count & CPI_BUSY) == 0)
            take_magazine(registry, cache, node, count);
        else if (++looks >= CPI_LOOKS && (backoff == NULL || !cpi_await_pause(backoff)))
            return false;
    }
    return true;
}

static bool take_spare(struct cpi_registry *registry, struct cpi_cache *cache)
{
    struct cpi_uncached uncached;
    uint32_t node;

    if (cpi_cache_steal(cache, true) == 0)
        return false;
    cpi_depot_enter(registry->depot, &uncached);
    node = cpi_cache_steal(cache, false);
    if (node != 0)
        hand_back(registry, &uncached, node);
    cpi_depot_leave(registry->depot, &uncached);
    return node != 0;
}

CPI_COLD bool cpi_reclaim_all(struct cpi_registry *registry, struct cpi_backoff *backoff,
                              bool barrier)
{
    bool holds = close_all(registry);
    bool all = (!holds && !barrier) || cpi_barrier(registry);

    CPI_ASSERT(cpi_load(&registry->closed, relaxed) != 0); /* [own] */
    for (size_t i = 0; holds && i < cpi_registry_made(registry); i++) {
        struct cpi_cache *cache = cpi_registry_cache(registry, i);

        all = take_loaded(registry, cache, backoff) && all;
        while (take_spare(registry, cache))
            ;
    }
    return all;
}

CPI_COLD bool cpi_reclaim_spare(struct cpi_registry *registry)
{
    for (size_t i = 0; i < cpi_registry_made(registry); i++)
        if (take_spare(registry, cpi_registry_cache(registry, i)))
            return true;
    return false;
}

/* --- What is left --- */

unsigned cpi_reclaim_left(const struct cpi_registry *registry)
{
    const struct cpi_slab *slab = registry->slab;
    const struct cpi_depot *depot = registry->depot;
    uint64_t bounds = cpi_slab_bounds(slab);
    bool more = CPI_BOUNDS_FRESH(bounds) < CPI_BOUNDS_CAPACITY(bounds) ||
                (slab->grows && CPI_BOUNDS_CAPACITY(bounds) < slab->slots);
    bool slots = cpi_depot_has_stocked(depot) || cpi_depot_partial_rounds(depot) > 0;

    return (slots ? CPI_LEFT_SLOTS : 0) | (more ? CPI_LEFT_MORE : 0);
}

bool cpi_reclaim_has_any(const struct cpi_registry *registry)
{
    for (size_t i = 0; i < cpi_registry_made(registry); i++)
        if (cpi_cache_rounds(cpi_registry_cache(registry, i)) > 0)
            return true;
    return cpi_reclaim_left(registry) != 0;
}

/* --- Waiting --- */

/* Mixes a number into a sum so that its position matters: one round more in one cache and one less
 * in another must not cancel out. */
static uint64_t mix_in(uint64_t sum, uint64_t number)
{
    return (sum + number) * UINT64_C(0x9e3779b97f4a7c15);
}

CPI_COLD uint64_t cpi_reclaim_activity(const struct cpi_registry *registry)
{
    uint64_t moves = cpi_slab_bounds(registry->slab); /* also the capacity, which may grow */
    size_t i = cpi_registry_made(registry); /* what a later cache took counts in the next sum */

    moves = mix_in(moves, cpi_depot_moves(cpi_depot_flights(registry->depot)));
    while (i-- > 0)
        moves = mix_in(moves, cpi_cache_moves(cpi_registry_cache(registry, i)));
    return moves;
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

/* Waiting for the operation that was seen is enough (doc/CONCURRENCY.md 3.6). */
static bool await_owner(const struct cpi_cache *cache, struct cpi_backoff *backoff)
{
    uint32_t busy = cpi_load(&cache->busy, acquire); /* [inside] */

    while (busy % 2 != 0 && cpi_load(&cache->busy, acquire) == busy) /* [inside] */
        if (!cpi_await_pause(backoff))
            return false;
    return true;
}

CPI_COLD bool cpi_await_inside(const struct cpi_registry *registry, struct cpi_backoff *backoff)
{
    uint64_t flights = cpi_depot_flights(registry->depot);

    while (!cpi_depot_have_left(registry->depot, flights))
        if (!cpi_await_pause(backoff))
            return false;
    for (size_t i = 0; i < cpi_registry_made(registry); i++)
        if (!await_owner(cpi_registry_cache(registry, i), backoff))
            return false;
    return true;
}

CPI_COLD void cpi_await_rest(const struct cpi_registry *registry)
{
    unsigned times = 0;

    while (cpi_depot_in_flight(cpi_depot_flights(registry->depot)) != 0)
        cpi_os_back_off(times++);
    for (size_t i = 0; i < cpi_registry_made(registry); i++) {
        const struct cpi_cache *cache = cpi_registry_cache(registry, i);

        while (cpi_load(&cache->busy, acquire) % 2 != 0 || /* [inside] */
               cpi_load(&cache->calls, acquire) != 0)      /* [inside] */
            cpi_os_back_off(times++);
    }
}
