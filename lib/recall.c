/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recall.c - thieves, and the protocol of exact pools.
 *
 * ORDERING TABLE
 *   claim  | claimed CAS to token | seq_cst | recall.h's check | that a thief is at work
 *   look   | busy load           | seq_cst | recall.h's inside left | what the owner did inside
 *   free   | claimed store 0     | release | recall.h's check, claim | what the thief took
 *   barrier | membarrier(2)      | -       | recall.h's inside check | each side's first word
 *   inside | busy, calls, turns, holder load | acquire | recall.h's left, roster.c's leave,
 *                                                       pool_alloc.c's rest | all that the
 *                                                       operation did that has left
 *   adopt  | busy load in the child of a fork | acquire | recall.h's left, cache.c's show | all
 *                                                       that the owner did
 *   none   | claimed, busy, calls in the child of a fork | relaxed | - | -
 *   shown  | entry count load    | acquire | cache.c's show | the mark of the owner that showed it
 *   again  | CAS failure of a claim | relaxed | - | -
 *   hint   | counter and frees load | acquire | depot.c's account, cache.h's frees | what it counts
 *   user   | user load; claimed and holder, for our own token | relaxed | - | -
 *   fold   | recalls fetch-and-add | relaxed | - | -
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "recall.h"

#include "atomic.h"
#include "os.h"
#include "thread.h"

/* Looks at an owner that is inside before it is left alone. */
#ifndef CPI_LOOKS /* a model checker wants few */
#define CPI_LOOKS 500u
#endif

/* Caches that one recall claims at a time. */
#define CPI_CLAIMS 64u

bool cpi_recall_asymmetric;

void cpi_recall_startup(void)
{
    cpi_recall_asymmetric = cpi_os_barrier_ready();
}

void cpi_recall_barrier(void)
{
    if (cpi_recall_has_barrier())
        cpi_os_barrier(); /* [barrier] */
}

void cpi_recall_flush(struct cpi_cache *cache)
{
    unsigned times = 0;

    while (!cpi_recall_enter(cache))
        cpi_os_step_aside(times++);
    cpi_cache_flush(cache);
    cpi_recall_leave(cache);
}

/* Gives a magazine that the thief has; whether it had rounds. */
static bool hand_back(struct cpi_roster *roster, struct cpi_visitor *thief, uint32_t node)
{
    bool rounds = cpi_magazine_count(cpi_depot_magazine(roster->depot, node)) != 0;

    cpi_depot_give(roster->depot, &thief->counters, node);
    if (rounds)
        cpi_fetch_add(&roster->recalls, 1u, relaxed); /* [fold] */
    return rounds;
}

bool cpi_recall_spare(struct cpi_roster *roster, struct cpi_visitor *thief)
{
    size_t i;

    for (i = 0; i < cpi_roster_made(roster); i++) {
        uint32_t node;

        while ((node = cpi_cache_steal(cpi_roster_cache(roster, i))) != 0)
            if (hand_back(roster, thief, node))
                return true;
    }
    return false;
}

/* Rounds that a cache shows, whoever asks. */
static uintptr_t shown(const struct cpi_cache *cache)
{
    cpool_cache_t *store = cpi_cache_store(cache);

    return store == NULL ? 0 : cpi_word_load(&store->count, acquire); /* [shown] */
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

/* Whether an operation of the calling thread that a signal interrupted has the
 * cache: as its owner, or as a thief. */
static bool is_interrupted(const struct cpi_cache *cache)
{
    uintptr_t claimed = cpi_load(&cache->claimed, relaxed); /* [user] */
    const struct cpi_visitor *thief = (const struct cpi_visitor *)claimed;

    if (thief != NULL && cpi_load(&thief->holder, relaxed) == cpi_thread_token()) /* [user] */
        return true;
    return busy(cache) % 2 != 0 && is_ours(cache);
}

static size_t all_shown(const struct cpi_roster *roster)
{
    size_t rounds = 0;
    size_t i;

    for (i = 0; i < cpi_roster_made(roster); i++)
        rounds += shown(cpi_roster_cache(roster, i));
    return rounds;
}

static uint32_t turns(const struct cpi_visitor *visitor)
{
    return cpi_load(&visitor->turns, acquire); /* [inside] */
}

/* Whether another thread than the caller holds the place. */
static bool is_held(const struct cpi_visitor *visitor)
{
    uintptr_t holder = cpi_load(&visitor->holder, acquire); /* [inside] */

    return holder != 0 && holder != cpi_thread_token();
}

/* An operation has at most two magazines in its hands that nobody else sees: while
 * the depot merges them. */
size_t cpi_recall_out_of_reach(const struct cpi_roster *roster)
{
    size_t hands = 2 * (size_t)roster->depot->limit;
    size_t rounds = 0;
    size_t i;

    for (i = 0; i < cpi_roster_visited(roster); i++)
        rounds += is_held(&roster->visitors[i]) ? hands : 0;
    /* The mark first: it goes after what the owner had in its hands is shown. */
    for (i = 0; i < cpi_roster_made(roster); i++)
        rounds += busy(cpi_roster_cache(roster, i)) % 2 != 0 ? hands : 0;
    return rounds + all_shown(roster);
}

static uint64_t exchanged(const struct cpi_counters *counters)
{
    return cpi_load(&counters->stocked_in, acquire) +  /* [hint] */
           cpi_load(&counters->stocked_out, acquire) + /* [hint] */
           cpi_load(&counters->empty_in, acquire) +    /* [hint] */
           cpi_load(&counters->empty_out, acquire) +   /* [hint] */
           cpi_load(&counters->remnants, acquire) +    /* [hint] */
           cpi_load(&counters->swaps, acquire);        /* [hint] */
}

static void give_spares(struct cpi_roster *roster, struct cpi_cache *cache,
                        struct cpi_visitor *thief)
{
    uint32_t node;

    while ((node = cpi_cache_steal(cache)) != 0) {
        cpi_depot_give(roster->depot, &thief->counters, node);
    }
}

void cpi_recall_idle(struct cpi_roster *roster, struct cpi_visitor *thief)
{
    size_t i;

    for (i = 0; i < cpi_roster_made(roster); i++) {
        struct cpi_cache *cache = cpi_roster_cache(roster, i);
        uint64_t now = exchanged(&cache->counters);

        if (now == cache->exchanges)
            give_spares(roster, cache, thief);
        cache->exchanges = now;
    }
}

/* Mixes a number into a sum such that it matters where it stood: one round more
 * here and one less there must not look like no change. */
static uint64_t mix(uint64_t sum, uint64_t number)
{
    return (sum + number) * UINT64_C(0x9e3779b97f4a7c15);
}

void cpi_recall_activity(const struct cpi_roster *roster, struct cpi_activity *now)
{
    bool slack = roster->slab->slots > roster->slab->most;
    size_t i;

    now->moves = cpi_slab_fresh(roster->slab);
    now->loaded = 0;
    now->left = 0;
    for (i = 0; i < cpi_roster_visited(roster); i++)
        now->moves = mix(now->moves, exchanged(&roster->visitors[i].counters));
    for (i = 0; i < cpi_roster_made(roster); i++) {
        const struct cpi_cache *cache = cpi_roster_cache(roster, i);
        uintptr_t rounds = shown(cache);

        now->moves = mix(now->moves, exchanged(&cache->counters));
        now->moves = mix(now->moves, cpi_load(&cache->frees, acquire)); /* [hint] */
        now->left += is_interrupted(cache) ? 0 : rounds;
        if (roster->exact)
            now->moves = mix(now->moves, rounds);
        else if (slack)
            now->loaded = mix(now->loaded, rounds);
    }
}

bool cpi_recall_pause(struct cpi_patience *patience)
{
    if (patience->times >= CPI_GIVE_WAY) {
        uint64_t now = cpi_os_now();

        if (patience->deadline == 0)
            patience->deadline = now + patience->limit;
        else if (now >= patience->deadline)
            return false;
    }
    cpi_os_step_aside(patience->times++);
    return true;
}

/* An operation that follows the one seen needs no waiting: what it has in its hands
 * it took after the caller had looked, and its exchanges are counted. */
static bool await_owner(const struct cpi_cache *cache, struct cpi_patience *patience)
{
    uint32_t seen = busy(cache);

    while (seen % 2 != 0 && !is_ours(cache) && busy(cache) == seen)
        if (!cpi_recall_pause(patience))
            return false;
    return true;
}

static bool await_visitor(const struct cpi_visitor *visitor, struct cpi_patience *patience)
{
    uint32_t seen = turns(visitor);

    while (is_held(visitor) && turns(visitor) == seen)
        if (!cpi_recall_pause(patience))
            return false;
    return true;
}

bool cpi_recall_await(const struct cpi_roster *roster, struct cpi_patience *patience)
{
    size_t i;

    for (i = 0; i < cpi_roster_visited(roster); i++)
        if (!await_visitor(&roster->visitors[i], patience))
            return false;
    for (i = 0; i < cpi_roster_made(roster); i++)
        if (!await_owner(cpi_roster_cache(roster, i), patience))
            return false;
    return true;
}

static bool is_at_rest(const struct cpi_cache *cache)
{
    return busy(cache) % 2 == 0 && cpi_load(&cache->calls, acquire) == 0; /* [inside] */
}

void cpi_recall_await_rest(const struct cpi_roster *roster)
{
    unsigned times = 0;
    size_t i;

    for (i = 0; i < cpi_roster_visited(roster); i++)
        while (is_held(&roster->visitors[i]))
            cpi_os_step_aside(times++);
    for (i = 0; i < cpi_roster_made(roster); i++)
        while (!is_at_rest(cpi_roster_cache(roster, i)))
            cpi_os_step_aside(times++);
}

/* Claims a cache that shows rounds. */
static bool claim(struct cpi_cache *cache, uintptr_t token)
{
    uintptr_t none = 0;

    return shown(cache) != 0 &&
           cpi_cas_strong(&cache->claimed, &none, token, seq_cst, relaxed); /* [claim] [again] */
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
static bool rob(struct cpi_roster *roster, struct cpi_cache *cache, struct cpi_visitor *thief)
{
    uint32_t node = 0;

    if (owner_left(cache))
        node = cpi_cache_seize(cache);
    release(cache);
    return node != 0 && hand_back(roster, thief, node);
}

bool cpi_recall_loaded(struct cpi_roster *roster, struct cpi_visitor *thief)
{
    uintptr_t token = (uintptr_t)thief; /* which no other thief has meanwhile */
    struct cpi_cache *claims[CPI_CLAIMS];
    bool found = false;
    size_t i = 0;

    while (i < cpi_roster_made(roster) && !found) {
        unsigned n = 0;

        for (; i < cpi_roster_made(roster) && n < CPI_CLAIMS; i++)
            if (claim(cpi_roster_cache(roster, i), token))
                claims[n++] = cpi_roster_cache(roster, i);
        if (n > 0)
            cpi_recall_barrier();
        while (n > 0)
            if (rob(roster, claims[--n], thief))
                found = true;
    }
    return found;
}

bool cpi_recall_forked(struct cpi_cache *cache)
{
    uint32_t mark = cpi_load(&cache->busy, acquire); /* [adopt] */
    bool inside = mark % 2 != 0;
    bool claimed = cpi_load(&cache->claimed, relaxed) != 0; /* [none] */

    cpi_store(&cache->claimed, 0, relaxed); /* [none] */
    if (!is_ours(cache))
        cpi_store(&cache->calls, 0u, relaxed); /* [none] */
    else if (inside)
        return false;
    if (inside || claimed)
        cpi_cache_abandon(cache);
    if (inside) {
        cpi_cache_flush_spares(cache);
        cpi_store(&cache->busy, mark + 1, relaxed); /* [none] */
    }
    return inside || claimed;
}

bool cpi_recall_visitors_forked(struct cpi_roster *roster)
{
    bool any = false;
    size_t i;

    for (i = 0; i < cpi_roster_visited(roster); i++)
        if (is_held(&roster->visitors[i])) {
            cpi_roster_leave(&roster->visitors[i]);
            any = true;
        }
    return any;
}
