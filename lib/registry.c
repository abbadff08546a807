/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.c - registering caches, and taking them over.
 *
 * ORDERING TABLE
 *   adopt | entry count load            | acquire | cache.c's show, fast.h's free | loaded, rounds
 *   clear | entry count store           | relaxed | - | -
 *   new   | made store                  | release | known | the structure is all zero
 *   known | made load                   | acquire | new   | the structure is all zero
 *   tally | dealings loads              | relaxed | - | -
 *   fold  | dealings fetch-and-add      | relaxed | - | -
 *
 * Whoever reads another thread's cache here does so either for an estimate
 * [tally], or when its owner cannot run: it ended, it does not exist in this
 * child of fork, or the caller has promised that nobody uses the pool.
 */
#include "registry.h"

#include <string.h>

#include "atomic.h"
#include "bits.h"

/* Entry i of the threads' tables belongs to some pool. */
static bool entry_taken[CPI_TABLE_ENTRIES];
static size_t entry_hint = 1; /* entries below are taken */

/* All rosters, by the address of their pool: destroying one of many thousand
 * pools must not look at the others. */
#define CPI_BUCKETS 1024u
static struct cpi_roster *rosters[CPI_BUCKETS];
static size_t roster_count;

size_t cpi_roster_bytes(size_t max, size_t share_max)
{
    size_t size = offsetof(struct cpi_cache, spare) + share_max * sizeof(uint32_t);

    return max * cpi_align_up(size, CPI_LINE);
}

size_t cpi_roster_magazines(size_t max, size_t spares)
{
    return max * (CPI_CACHE_HANDS + CPI_SHARE_MIN) + spares;
}

static struct cpi_cache *structure(const struct cpi_roster *roster, size_t i)
{
    size_t stride = cpi_roster_bytes(1, roster->share_max);

    return (struct cpi_cache *)(void *)(roster->caches.base + i * stride);
}

static size_t made(const struct cpi_roster *roster)
{
    return cpi_load(&roster->made, acquire); /* [known] */
}

static struct cpi_roster **bucket_of(const cpool_t *pool)
{
    return &rosters[((uintptr_t)pool >> 12) % CPI_BUCKETS];
}

/* --- Entries in the threads' tables --- */

static size_t take_entry(void)
{
    while (entry_hint < CPI_TABLE_ENTRIES && entry_taken[entry_hint])
        entry_hint++;
    if (entry_hint == CPI_TABLE_ENTRIES)
        return 0;
    entry_taken[entry_hint] = true;
    return entry_hint * sizeof(cpool_cache_t);
}

static void return_entry(size_t table_offset)
{
    size_t entry = table_offset / sizeof(cpool_cache_t);

    entry_taken[entry] = false;
    if (entry != 0 && entry < entry_hint)
        entry_hint = entry;
}

static cpool_cache_t *entry_of(struct cpi_thread *thread, const struct cpi_roster *roster)
{
    return &thread->table[roster->table_offset / sizeof(cpool_cache_t)];
}

static void clear_entry(cpool_cache_t *entry)
{
    cpi_word_store(&entry->count, 0, relaxed); /* [clear] */
    entry->limit = 0;
    entry->rounds = NULL;
    entry->bound = 0;
    entry->pool = NULL;
    entry->home = NULL;
}

/* --- Caches --- */

/* With the lock held. */
static bool provide_magazines(struct cpi_roster *roster, size_t caches, uint32_t spares)
{
    return cpi_depot_provide_caches(roster->depot,
                                    (uint32_t)cpi_roster_magazines(caches, spares));
}

/* With the lock held. */
static struct cpi_cache *take_structure(struct cpi_roster *roster)
{
    struct cpi_cache *cache = roster->unused;
    size_t number = made(roster);

    if (cache != NULL) {
        roster->unused = cache->next;
        return cache;
    }
    if (number == roster->max ||
        !cpi_extent_reach(&roster->caches, cpi_roster_bytes(number + 1, roster->share_max)) ||
        !provide_magazines(roster, number + 1, roster->spares_max - roster->spares_left))
        return NULL;
    cache = structure(roster, number);
    memset(cache, 0, cpi_roster_bytes(1, roster->share_max));
    cache->roster = roster;
    cache->slab = roster->slab;
    cache->depot = roster->depot;
    cache->places = roster->share_max;
    cpi_store(&roster->made, number + 1, release); /* [new] */
    return cache;
}

/* With the lock held.  An owner's cache lives in its table. */
static struct cpi_cache *register_cache(struct cpi_roster *roster, struct cpi_thread *owner)
{
    struct cpi_cache *cache = take_structure(roster);

    if (cache == NULL)
        return NULL;
    cache->used = true;
    cache->owner = owner;
    cache->next = NULL;
    roster->used++;
    if (owner != NULL) {
        cache->next = owner->caches;
        owner->caches = cache;
    }
    cpi_cache_open(cache, owner != NULL ? entry_of(owner, roster) : &cache->own,
                   roster->inline_path, roster->pool);
    return cache;
}

/* With the lock held; the cache holds nothing any more. */
static void unregister_cache(struct cpi_roster *roster, struct cpi_cache *cache)
{
    if (cache->owner != NULL) {
        struct cpi_cache **link = &cache->owner->caches;

        while (*link != cache)
            link = &(*link)->next;
        *link = cache->next;
    }
    clear_entry(cache->entry);
    cache->entry = &cache->own;
    cache->store = &cache->hidden;
    roster->spares_left += cache->granted - CPI_SHARE_MIN;
    cache->owner = NULL;
    cache->used = false;
    cache->next = roster->unused;
    roster->unused = cache;
    roster->used--;
}

struct cpi_cache *cpi_roster_known_cache(const struct cpi_roster *roster)
{
    struct cpi_thread *thread = cpi_thread_known();

    return thread == NULL ? NULL : entry_of(thread, roster)->home;
}

struct cpi_cache *cpi_roster_own_cache(struct cpi_roster *roster)
{
    struct cpi_cache *cache = cpi_roster_known_cache(roster);
    struct cpi_thread *thread;

    if (cache != NULL || roster->table_offset == 0)
        return cache;
    thread = cpi_thread_self();
    if (thread == NULL)
        return NULL;
    cpi_lock();
    cache = register_cache(roster, thread);
    cpi_unlock();
    return cache;
}

struct cpi_cache *cpi_roster_add_cache(struct cpi_roster *roster)
{
    struct cpi_cache *cache;

    cpi_lock();
    cache = register_cache(roster, NULL);
    cpi_unlock();
    return cache;
}

void cpi_roster_remove_cache(struct cpi_roster *roster, struct cpi_cache *cache)
{
    cpi_cache_flush(cache);
    cpi_lock();
    unregister_cache(roster, cache);
    cpi_unlock();
}

void cpi_roster_end_caches(struct cpi_roster *roster)
{
    size_t i;

    for (i = 0; i < made(roster); i++) {
        struct cpi_cache *cache = structure(roster, i);

        if (!cache->used)
            continue;
        cpi_cache_discard(cache);
        unregister_cache(roster, cache);
    }
}

/* --- The end of a thread --- */

static void thread_ended(struct cpi_thread *thread)
{
    while (thread->caches != NULL) {
        struct cpi_cache *cache = thread->caches;

        cpi_cache_flush(cache);
        unregister_cache(cache->roster, cache);
    }
}

/* --- Fork: in the child, with one thread and the lock --- */

/* Whether a registered cache has the magazine loaded or spare. */
static bool any_cache_holds(const struct cpi_roster *roster, uint32_t node)
{
    size_t i;
    uint32_t s;

    for (i = 0; i < made(roster); i++) {
        const struct cpi_cache *cache = structure(roster, i);

        if (!cache->used)
            continue;
        if (cache->loaded == node)
            return true;
        for (s = 0; s < cache->places; s++)
            if (cpi_load(&cache->spare[s], relaxed) == node) /* [tally] */
                return true;
    }
    return false;
}

/* Gives a magazine that may be in a vanished thread's hands, unless it lies
 * somewhere else after all. */
static void adopt_from_hands(struct cpi_roster *roster, struct cpi_cache *cache, uint32_t node)
{
    if (node != 0 && !cpi_depot_holds(roster->depot, node) && !any_cache_holds(roster, node))
        cpi_depot_give(roster->depot, &cache->dealings, node);
}

/* The larger of the two counts of the loaded magazine is the true one. */
static void settle_loaded_count(struct cpi_roster *roster, struct cpi_cache *cache)
{
    struct cpi_magazine *magazine = cpi_depot_magazine(roster->depot, cache->loaded);
    uintptr_t count = cpi_word_load(&cache->store->count, acquire); /* [adopt] */

    if (count > cpi_magazine_count(magazine))
        cpi_magazine_set_count(magazine, (uint32_t)count);
}

/*
 * Gives all that a cache whose owner vanished has in its hands to the depot,
 * wherever in its steps the owner was.  Returns whether it was in the middle of
 * an exchange: then the accounts of the stacks may be off by one.
 */
static bool adopt(struct cpi_roster *roster, struct cpi_cache *cache)
{
    uint32_t taking = cpi_load(&cache->dealings.taking, relaxed); /* [tally] */
    uint32_t giving = cpi_load(&cache->dealings.giving, relaxed); /* [tally] */
    uint32_t loaded = cache->loaded;
    uint32_t i;

    if (loaded != 0)
        settle_loaded_count(roster, cache);
    for (i = 0; i < cache->places; i++) {
        uint32_t node = cpi_load(&cache->spare[i], relaxed); /* [tally] */

        cpi_store(&cache->spare[i], 0, relaxed); /* [clear] */
        if (node != 0 && node != loaded)
            cpi_depot_give(roster->depot, &cache->dealings, node);
    }
    cpi_cache_discard(cache);
    if (loaded != 0)
        cpi_depot_give(roster->depot, &cache->dealings, loaded);
    adopt_from_hands(roster, cache, giving);
    adopt_from_hands(roster, cache, taking);
    return taking != 0 || giving != 0;
}

/* --- Sharing out what there is --- */

void cpi_roster_widen(struct cpi_roster *roster, struct cpi_cache *cache)
{
    uint32_t more = cache->granted;

    if (cpi_cache_widen(cache) || cache->granted == roster->share_max || !cpi_try_lock())
        return;
    if (more > roster->share_max - cache->granted)
        more = roster->share_max - cache->granted;
    if (more > roster->spares_left)
        more = roster->spares_left;
    if (more > 0 && provide_magazines(roster, made(roster),
                                      roster->spares_max - roster->spares_left + more)) {
        roster->spares_left -= more;
        cache->granted += more;
    }
    cpi_unlock();
    cpi_cache_widen(cache);
    cache->wants = false;
}

bool cpi_roster_recall(struct cpi_roster *roster, struct cpi_dealings *dealings)
{
    size_t i;

    for (i = 0; i < made(roster); i++) {
        uint32_t node;

        while ((node = cpi_cache_steal(structure(roster, i), dealings)) != 0) {
            bool stocked = cpi_magazine_count(cpi_depot_magazine(roster->depot, node)) != 0;

            cpi_depot_gives(dealings, node);
            cpi_depot_taken(dealings);
            cpi_depot_give(roster->depot, dealings, node);
            if (stocked) {
                cpi_fetch_add(&roster->recalls, 1u, relaxed); /* [fold] */
                return true;
            }
        }
    }
    return false;
}

void cpi_roster_recount(struct cpi_roster *roster)
{
    struct cpi_roster_figures figures;

    cpi_roster_figures(roster, &figures);
    roster->stocked_correction +=
        (int64_t)cpi_depot_count_stocked(roster->depot) - figures.stocked;
}

static void thread_vanished(struct cpi_thread *thread)
{
    while (thread->caches != NULL) {
        struct cpi_cache *cache = thread->caches;
        struct cpi_roster *roster = cache->roster;
        bool disturbed = adopt(roster, cache);

        unregister_cache(roster, cache);
        if (disturbed)
            cpi_roster_recount(roster);
    }
}

/* Caches that no thread owns stay registered, but one in the middle of an
 * exchange was in use by a thread that vanished. */
static void adopt_unowned(struct cpi_roster *roster)
{
    size_t i;

    for (i = 0; i < made(roster); i++) {
        struct cpi_cache *cache = structure(roster, i);

        if (cache->used && cache->owner == NULL &&
            (cpi_load(&cache->dealings.taking, relaxed) != 0 ||  /* [tally] */
             cpi_load(&cache->dealings.giving, relaxed) != 0) && /* [tally] */
            adopt(roster, cache))
            cpi_roster_recount(roster);
    }
}

static void fork_done(void)
{
    struct cpi_roster *roster;
    size_t i;

    for (i = 0; i < CPI_BUCKETS; i++)
        for (roster = rosters[i]; roster != NULL; roster = roster->next)
            adopt_unowned(roster);
}

/* --- All rosters --- */

static bool no_pool_alive(void)
{
    return roster_count == 0;
}

bool cpi_registry_startup(void)
{
    static const struct cpi_thread_hooks hooks = {thread_ended, thread_vanished, fork_done,
                                                  no_pool_alive};

    return cpi_thread_startup(&hooks);
}

void cpi_roster_open(struct cpi_roster *roster, const struct cpi_extent *caches, cpool_t *pool,
                     struct cpi_slab *slab, struct cpi_depot *depot,
                     const struct cpi_roster_limits *limits)
{
    memset(roster, 0, sizeof *roster);
    cpi_extent_copy(&roster->caches, caches);
    roster->max = limits->max;
    roster->share_max = limits->share_max;
    roster->spares_max = limits->spares;
    roster->spares_left = limits->spares;
    roster->inline_path = limits->inline_path;
    roster->pool = pool;
    roster->slab = slab;
    roster->depot = depot;
    cpi_lock();
    roster->table_offset = take_entry();
    slab->prefix.table_offset = roster->table_offset;
    roster->next = *bucket_of(pool);
    *bucket_of(pool) = roster;
    roster_count++;
    cpi_unlock();
}

void cpi_roster_close(struct cpi_roster *roster)
{
    struct cpi_roster **link = bucket_of(roster->pool);

    while (*link != roster)
        link = &(*link)->next;
    *link = roster->next;
    roster_count--;
    return_entry(roster->table_offset);
}

bool cpi_registry_knows(const cpool_t *pool)
{
    const struct cpi_roster *roster = *bucket_of(pool);

    while (roster != NULL && roster->pool != pool)
        roster = roster->next;
    return roster != NULL;
}

static void tally(const struct cpi_dealings *dealings, struct cpi_roster_figures *figures)
{
    uint64_t in = cpi_load(&dealings->stocked_in, relaxed);   /* [tally] */
    uint64_t out = cpi_load(&dealings->stocked_out, relaxed); /* [tally] */

    figures->stocked += (int64_t)(in - out);
    figures->exchanges += in + out;
    figures->exchanges += cpi_load(&dealings->empty_in, relaxed);  /* [tally] */
    figures->exchanges += cpi_load(&dealings->empty_out, relaxed); /* [tally] */
    figures->retries += cpi_load(&dealings->retries, relaxed);     /* [tally] */
}

void cpi_roster_figures(const struct cpi_roster *roster, struct cpi_roster_figures *figures)
{
    size_t i;

    memset(figures, 0, sizeof *figures);
    figures->caches = roster->used;
    figures->stocked = roster->stocked_correction;
    figures->recalls = cpi_load(&roster->recalls, relaxed); /* [tally] */
    tally(&roster->outside, figures);
    for (i = 0; i < made(roster); i++) {
        const struct cpi_cache *cache = structure(roster, i);

        tally(&cache->dealings, figures);
        if (cache->used) {
            figures->rounds += cpi_cache_rounds(cache);
            figures->spares += cache->granted;
        }
    }
}

/* Adds one counter of an operation without a cache to those of all of them. */
static void fold(_Atomic uint64_t *total, const _Atomic uint64_t *counter)
{
    uint64_t more = cpi_load(counter, relaxed); /* [tally] */

    if (more != 0)
        cpi_fetch_add(total, more, relaxed); /* [fold] */
}

void cpi_roster_account(struct cpi_roster *roster, const struct cpi_dealings *dealings)
{
    fold(&roster->outside.stocked_in, &dealings->stocked_in);
    fold(&roster->outside.stocked_out, &dealings->stocked_out);
    fold(&roster->outside.empty_in, &dealings->empty_in);
    fold(&roster->outside.empty_out, &dealings->empty_out);
    fold(&roster->outside.retries, &dealings->retries);
}
