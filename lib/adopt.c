/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * adopt.c - finding every magazine in the hands of a thread that a fork left
 * behind.
 *
 * ORDERING TABLE
 *   adopt | entry count load      | acquire | cache.c's show, fast.h's free | loaded, rounds
 *   hands | dealings, spare loads | relaxed | - | -
 *   clear | spare store           | relaxed | - | -
 *
 * The child has one thread, so nothing here races.  What has to be in order are
 * the stores of the vanished thread, as far as the child sees them; cache.h's
 * last invariant says what order that is.
 */
#include "adopt.h"

#include "atomic.h"

/* Whether a registered cache has the magazine loaded or spare. */
static bool any_cache_holds(const struct cpi_roster *roster, uint32_t node)
{
    size_t i;
    uint32_t s;

    for (i = 0; i < cpi_roster_made(roster); i++) {
        const struct cpi_cache *cache = cpi_roster_cache(roster, i);

        if (!cache->used)
            continue;
        if (cpi_cache_loaded(cache) == node)
            return true;
        for (s = 0; s < cache->places; s++)
            if (cpi_load(&cache->spare[s], relaxed) == node) /* [hands] */
                return true;
    }
    return false;
}

/*
 * Gives a magazine that may be in a vanished thread's hands, unless it lies
 * somewhere else after all: what the thread was about to take it may not have
 * taken, and what it still had loaded it may already have put among its spares,
 * from where it may have been recalled.
 */
static void adopt_from_hands(struct cpi_roster *roster, struct cpi_cache *cache, uint32_t node)
{
    if (node != 0 && !cpi_depot_holds(roster->depot, node) && !any_cache_holds(roster, node))
        cpi_depot_give(roster->depot, &cache->dealings, node);
}

/* The same for a magazine that the thread was about to use for the first time,
 * and may not have got; in no case has it put anything into it. */
static void adopt_from_making(struct cpi_roster *roster, struct cpi_cache *cache, uint32_t node)
{
    if (!cpi_depot_has_made(roster->depot, node) || cpi_depot_holds(roster->depot, node) ||
        any_cache_holds(roster, node))
        return;
    cpi_magazine_set_count(cpi_depot_magazine(roster->depot, node), 0);
    cpi_depot_give(roster->depot, &cache->dealings, node);
}

/* The larger of the two counts of the loaded magazine is the true one. */
static void settle_loaded_count(struct cpi_roster *roster, struct cpi_cache *cache)
{
    struct cpi_magazine *magazine = cpi_depot_magazine(roster->depot, cpi_cache_loaded(cache));
    uintptr_t count = cpi_word_load(&cpi_cache_store(cache)->count, acquire); /* [adopt] */

    if (count > cpi_magazine_count(magazine))
        cpi_magazine_set_count(magazine, (uint32_t)count);
}

bool cpi_adopt(struct cpi_roster *roster, struct cpi_cache *cache)
{
    uint32_t taking = cpi_load(&cache->dealings.taking, relaxed); /* [hands] */
    uint32_t giving = cpi_load(&cache->dealings.giving, relaxed); /* [hands] */
    uint32_t loaded = cpi_cache_loaded(cache);
    uint32_t i;

    if (loaded != 0)
        settle_loaded_count(roster, cache);
    for (i = 0; i < cache->places; i++) {
        uint32_t node = cpi_load(&cache->spare[i], relaxed); /* [hands] */

        cpi_store(&cache->spare[i], 0, relaxed); /* [clear] */
        if (node != 0 && node != loaded)
            cpi_depot_give(roster->depot, &cache->dealings, node);
    }
    cpi_cache_discard(cache);
    adopt_from_hands(roster, cache, loaded);
    adopt_from_hands(roster, cache, giving);
    if ((taking & CPI_MAKING) != 0)
        adopt_from_making(roster, cache, taking & ~CPI_MAKING);
    else
        adopt_from_hands(roster, cache, taking);
    return taking != 0 || giving != 0;
}
