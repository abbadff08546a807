/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recall.c - thieves, and the protocol of exact pools.
 *
 * ORDERING TABLE
 *   claim  | claimed CAS to token | seq_cst | recall.h's check | that a thief is at work
 *   look   | busy load           | seq_cst | recall.h's inside left | what the owner did inside
 *   free   | claimed store 0     | release | recall.h's check, claim | what the thief took
 *   barrier | membarrier(2)      | -       | recall.h's inside check | each side's first word
 *   none   | busy store 0 in the child of a fork | relaxed | - | -
 *   hands  | dealings, visitors loads | acquire | depot.c's done, roster.c's leave | what was in the hands is shown
 *   hint   | entry count, claimed, busy, counter loads | relaxed | - | -
 *   fold   | recalls fetch-and-add | relaxed | - | -
 *   refused | refused load, store | relaxed | - | -
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "recall.h"

#include "atomic.h"
#include "os.h"

/* Looks at an owner that is inside before it is left alone. */
#ifndef CPI_LOOKS /* a model checker wants few */
#define CPI_LOOKS 500u
#endif

/* Caches that one recall claims at a time. */
#define CPI_CLAIMS 64u

bool cpi_recall_asymmetric;

/* Once, so possibly again. */
static _Atomic bool refused;

void cpi_recall_startup(void)
{
    cpi_recall_asymmetric = cpi_os_barrier_ready();
}

bool cpi_recall_barrier(void)
{
    if (!cpi_recall_has_barrier())
        return true;
    cpi_os_barrier(); /* [barrier] */
    return true;
}

bool cpi_recall_is_refused(void)
{
    return cpi_load(&refused, relaxed); /* [refused] */
}

void cpi_recall_flush(struct cpi_cache *cache)
{
    unsigned times = 0;

    if (!cache->roster->exact) {
        cpi_cache_flush(cache);
        return;
    }
    while (!cpi_recall_enter(cache))
        cpi_os_step_aside(times++);
    cpi_cache_flush(cache);
    cpi_recall_leave(cache);
}

/* Gives a magazine that dealings->giving names; whether it had rounds. */
static bool hand_back(struct cpi_roster *roster, struct cpi_dealings *dealings, uint32_t node)
{
    bool rounds = cpi_magazine_count(cpi_depot_magazine(roster->depot, node)) != 0;

    cpi_depot_give(roster->depot, dealings, node);
    if (rounds)
        cpi_fetch_add(&roster->recalls, 1u, relaxed); /* [fold] */
    return rounds;
}

bool cpi_recall_spare(struct cpi_roster *roster, struct cpi_dealings *dealings)
{
    size_t i;

    for (i = 0; i < cpi_roster_made(roster); i++) {
        uint32_t node;

        while ((node = cpi_cache_steal(cpi_roster_cache(roster, i), dealings)) != 0) {
            cpi_depot_gives(dealings, node);
            cpi_depot_taken(dealings);
            if (hand_back(roster, dealings, node))
                return true;
        }
    }
    return false;
}

/* Rounds that a cache shows, whoever asks. */
static uintptr_t shown(const struct cpi_cache *cache)
{
    cpool_cache_t *store = cpi_cache_store(cache);

    return store == NULL ? 0 : cpi_word_load(&store->count, relaxed); /* [hint] */
}

/* Whether the cache's owner has a magazine on its way.  The owner clears its
 * hands after it has shown what was in them, so looking at the hands first and
 * at the shown count then misses nothing. */
static bool hands_full(const struct cpi_cache *cache)
{
    return cpi_load(&cache->dealings.taking, acquire) != 0 || /* [hands] */
           cpi_load(&cache->dealings.giving, acquire) != 0;   /* [hands] */
}

static size_t visitors(const struct cpi_roster *roster)
{
    return cpi_load(&roster->visitors, acquire); /* [hands] */
}

size_t cpi_recall_out_of_reach(const struct cpi_roster *roster)
{
    size_t rounds = visitors(roster) * roster->depot->limit;
    size_t i;

    for (i = 0; i < cpi_roster_made(roster); i++) {
        const struct cpi_cache *cache = cpi_roster_cache(roster, i);

        if (hands_full(cache))
            rounds += roster->depot->limit;
        rounds += shown(cache);
    }
    return rounds;
}

static uint64_t exchanged(const struct cpi_dealings *dealings)
{
    return cpi_load(&dealings->stocked_in, relaxed) +  /* [hint] */
           cpi_load(&dealings->stocked_out, relaxed) + /* [hint] */
           cpi_load(&dealings->empty_in, relaxed) +    /* [hint] */
           cpi_load(&dealings->empty_out, relaxed) +   /* [hint] */
           cpi_load(&dealings->remnants, relaxed) +    /* [hint] */
           cpi_load(&dealings->swaps, relaxed);        /* [hint] */
}

static void give_spares(struct cpi_roster *roster, struct cpi_cache *cache,
                        struct cpi_dealings *dealings)
{
    uint32_t node;

    while ((node = cpi_cache_steal(cache, dealings)) != 0) {
        cpi_depot_gives(dealings, node);
        cpi_depot_taken(dealings);
        cpi_depot_give(roster->depot, dealings, node);
    }
}

void cpi_recall_idle(struct cpi_roster *roster, struct cpi_dealings *dealings)
{
    size_t i;

    for (i = 0; i < cpi_roster_made(roster); i++) {
        struct cpi_cache *cache = cpi_roster_cache(roster, i);
        uint64_t now = exchanged(&cache->dealings);

        if (now == cache->exchanges)
            give_spares(roster, cache, dealings);
        cache->exchanges = now;
    }
}

/* Mixes a number into a sum such that it matters where it stood: one round more
 * here and one less there must not look like no change. */
static uint64_t mix(uint64_t sum, uint64_t number)
{
    return (sum + number) * UINT64_C(0x9e3779b97f4a7c15);
}

uint64_t cpi_recall_activity(const struct cpi_roster *roster)
{
    uint64_t sum = mix(exchanged(&roster->outside), cpi_slab_fresh(roster->slab));
    size_t i;

    for (i = 0; i < cpi_roster_made(roster); i++) {
        const struct cpi_cache *cache = cpi_roster_cache(roster, i);

        sum = mix(sum, exchanged(&cache->dealings));
        sum = mix(sum, shown(cache));
    }
    return sum;
}

bool cpi_recall_in_hands(const struct cpi_roster *roster)
{
    size_t i;

    for (i = 0; i < cpi_roster_made(roster); i++) {
        const struct cpi_cache *cache = cpi_roster_cache(roster, i);

        if (hands_full(cache) || cpi_load(&cache->busy, relaxed) % 2 != 0) /* [hint] */
            return true;
    }
    return visitors(roster) != 0;
}

/* Claims a cache that shows rounds. */
static bool claim(struct cpi_cache *cache, uintptr_t token)
{
    uintptr_t none = 0;

    return shown(cache) != 0 &&
           cpi_cas_strong(&cache->claimed, &none, token, seq_cst, relaxed); /* [claim] [hint] */
}

static void release(struct cpi_cache *cache)
{
    cpi_store(&cache->claimed, 0, release); /* [free] */
}

/* An owner that is inside when its cache is claimed soon leaves, and does not come
 * in again; unless it was stopped there. */
static bool owner_left(const struct cpi_cache *cache)
{
    unsigned looks;

    for (looks = 0; looks < CPI_LOOKS; looks++) {
        if (cpi_load(&cache->busy, seq_cst) % 2 == 0) /* [look] */
            return true;
        CPI_PAUSE();
    }
    return false;
}

/* Takes what a claimed cache has loaded, unless its owner stays inside. */
static bool rob(struct cpi_roster *roster, struct cpi_cache *cache, struct cpi_dealings *dealings)
{
    uint32_t node = 0;

    if (owner_left(cache))
        node = cpi_cache_seize(cache, dealings);
    release(cache);
    return node != 0 && hand_back(roster, dealings, node);
}

bool cpi_recall_loaded(struct cpi_roster *roster, struct cpi_dealings *dealings)
{
    /* A token that no other thief can have: an address of this very call. */
    uintptr_t token = (uintptr_t)dealings;
    struct cpi_cache *claims[CPI_CLAIMS];
    bool found = false;
    size_t i = 0;

    while (i < cpi_roster_made(roster) && !found) {
        unsigned n = 0;

        for (; i < cpi_roster_made(roster) && n < CPI_CLAIMS; i++)
            if (claim(cpi_roster_cache(roster, i), token))
                claims[n++] = cpi_roster_cache(roster, i);
        if (n > 0 && !cpi_recall_barrier()) {
            while (n > 0)
                release(claims[--n]);
            return false;
        }
        while (n > 0)
            if (rob(roster, claims[--n], dealings))
                found = true;
    }
    return found;
}

void cpi_recall_forked(struct cpi_cache *cache)
{
    if (cache->used && cpi_load(&cache->claimed, relaxed) != 0) /* [hint] */
        cpi_cache_mend(cache);
    cpi_store(&cache->busy, 0u, relaxed); /* [none] */
    release(cache);
}
