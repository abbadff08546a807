/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steal.c - stealing threads.
 *
 * ORDERING TABLE
 *   fold   | recalls fetch-and-add | relaxed | - | -
 */
#include "cache/steal.h"

#include "base/atomic.h"
#include "cache/mark.h"

/* Looks at an owner that is inside before it is left alone. */
#ifndef CPI_LOOKS /* a model checker wants few */
#define CPI_LOOKS 500u
#endif

/* Caches that are locked at a time. */
#define CPI_LOCKS 64u

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
