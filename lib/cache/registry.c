/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.c - the list of a pool's caches, registering them, and taking them over.
 *
 * ORDERING TABLE
 *   clear | entry words, store; store pointer | relaxed | - | -
 *         | entry count store, active pointer store | release | reclaim.c's seen, scan | what was
 *                                               loaded before
 *   fenced | fenced store    | relaxed | - | -
 *   new   | made store        | release | registry.h's known | the structure is all zero
 *   used  | used load, store  | relaxed | - | -
 *   tally | counter loads     | relaxed | - | -
 *   forked | busy, entry count load in the child of a fork | acquire | cache.h's left, out | all
 *                                                      that the owner did before
 *   none  | marks, calls, closed in the child of a fork | relaxed | - | -
 *
 * Functions here change another thread's cache only when its owner cannot run: after a fork that
 * the owner did not survive, or because the caller has promised that no thread uses the pool.
 */
#include "cache/registry.h"

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/list.h"
#include "cache/reclaim.h"
#include "host/os.h"

static struct cpi_registry *registries; /* of all pools */

/* --- The list --- */

size_t cpi_registry_bytes(size_t max, size_t quota_max)
{
    return max * cpi_align_up(offsetof(struct cpi_cache, spare) + quota_max * sizeof(uint32_t),
                              CPI_LINE);
}

size_t cpi_registry_magazines(size_t max, size_t spares)
{
    return max * (CPI_CACHE_HANDS + CPI_QUOTA_MIN) + spares;
}

static void tally_counters(const struct cpi_counters *counters,
                           struct cpi_registry_figures *figures)
{
    uint64_t in = cpi_load(&counters->stocked_in, relaxed);   /* [tally] */
    uint64_t out = cpi_load(&counters->stocked_out, relaxed); /* [tally] */

    figures->stocked += (int64_t)(in - out);
    figures->exchanges += in + out + cpi_load(&counters->others, relaxed); /* [tally] */
}

/* While others work, the sum for the stack may lag behind and be negative. */
static void derive_live(const struct cpi_registry *registry, struct cpi_registry_figures *figures)
{
    int64_t out = (int64_t)cpi_slab_fresh(registry->slab);
    size_t stocked = figures->stocked > 0 ? (size_t)figures->stocked : 0;

    figures->in_depot =
        stocked * registry->depot->limit + cpi_depot_partial_rounds(registry->depot);
    figures->live = out - (int64_t)(figures->in_depot + figures->rounds);
}

void cpi_registry_add_up(const struct cpi_registry *registry, struct cpi_registry_figures *figures)
{
    memset(figures, 0, sizeof *figures);
    figures->stocked = registry->stocked_correction;
    tally_counters(&registry->depot->flown, figures);
    for (size_t i = 0; i < cpi_registry_made(registry); i++) {
        const struct cpi_cache *cache = cpi_registry_cache(registry, i);

        tally_counters(&cache->counters, figures);
        figures->rounds += cpi_cache_rounds(cache); /* 0 if it is not registered */
    }
    derive_live(registry, figures);
}

size_t cpi_registry_count_live(const struct cpi_registry *registry)
{
    struct cpi_registry_figures figures;

    cpi_registry_add_up(registry, &figures);
    return figures.live > 0 ? (size_t)figures.live : 0;
}

CPI_COLD int64_t cpi_registry_recount(struct cpi_registry *registry)
{
    struct cpi_registry_figures figures;
    int64_t counted = (int64_t)cpi_depot_count_stocked(registry->depot);

    CPI_ASSERT(cpi_lock_is_held());
    cpi_registry_add_up(registry, &figures);
    registry->stocked_correction += counted - figures.stocked;
    figures.stocked = counted;
    derive_live(registry, &figures);
    return figures.live;
}

/* --- Caches --- */

static void clear_entry(cpool_cache_t *entry)
{
    cpi_word_store(&entry->count, 0, release); /* [clear] */
    cpi_word_store(&entry->limit, 0, relaxed); /* [clear] */
    entry->rounds = NULL;
    entry->bound = 0;
    entry->pool = CPI_HANDLE_NONE; /* the inline path reads it before it sees the bound */
    cpi_word_store((uintptr_t *)(void *)&entry->home, 0, relaxed); /* [clear] */
}

/* With the lock held.  The quota of a cache that is being registered, when there are so many
 * structures: the largest that is still available, or 0 if the system refuses the memory even for
 * the smallest.  Caches that were registered earlier keep theirs. */
static uint32_t take_quota(struct cpi_registry *registry, size_t caches)
{
    struct cpi_depot *depot = registry->depot;
    uint32_t more = registry->quota_max - CPI_QUOTA_MIN;
    uint32_t out = registry->spares_out;

    CPI_ASSERT(cpi_lock_is_held() && out <= registry->spares);
    if (more > registry->spares - out)
        more = registry->spares - out;
    for (;; more = 0) {
        size_t magazines = cpi_registry_magazines(caches, out + more);

        if (cpi_extent_reach(&depot->for_caches, magazines * depot->links.stride))
            break;
        if (more == 0)
            return 0;
    }
    registry->spares_out += more;
    return CPI_QUOTA_MIN + more;
}

static struct cpi_cache *make_structure(struct cpi_registry *registry, size_t number)
{
    struct cpi_cache *cache = cpi_registry_cache(registry, number);

    memset(cache, 0, registry->stride);
    cache->registry = registry;
    cache->slab = registry->slab;
    cache->depot = registry->depot;
    cache->quota_max = registry->quota_max;
    cpi_store(&cache->active, &cache->hidden, relaxed); /* [clear] */
    cpi_store(&registry->made, number + 1, release); /* [new] */
    return cache;
}

/* With the lock held.  A checked pool reuses the structure of a destroyed cache only when all
 * others are in use, so that stale handles of caches are detected for longer.  What a reused one
 * needs was granted when it was made. */
static struct cpi_cache *take_structure(struct cpi_registry *registry, uint32_t *quota,
                                        bool has_handle)
{
    struct cpi_cache *cache = registry->unused;
    size_t made = cpi_registry_made(registry);

    if ((cache == NULL || (registry->checked && has_handle)) && made < registry->max &&
        cpi_extent_reach(&registry->caches, (made + 1) * registry->stride) &&
        (*quota = take_quota(registry, made + 1)) != 0)
        return make_structure(registry, made);
    if (cache != NULL) {
        *quota = take_quota(registry, made);
        registry->unused = cache->next;
    }
    return cache;
}

/* With the lock held.  The entry of a thread's cache is in the thread's table. */
CPI_COLD static struct cpi_cache *register_cache(struct cpi_registry *registry,
                                                 struct cpi_thread *owner)
{
    bool fenced = cpi_has_barrier();
    uint32_t quota;
    struct cpi_cache *cache = take_structure(registry, &quota, owner == NULL);

    CPI_ASSERT(cpi_lock_is_held());
    if (cache == NULL)
        return NULL;
    CPI_ASSERT(!cache->used && cache->owner == NULL);
    cache->used = true;
    cpi_store(&cache->fenced, fenced, relaxed); /* [fenced] */
    cache->near = registry->tracked && fenced ? CPI_NEAR_TRACKED : CPI_NEAR_NONE;
    if (registry->inline_path && fenced)
        cache->near = CPI_NEAR_SWAPS;
    cache->sample_in = registry->sample != 0 ? 1 + cpi_os_chance(registry->sample) : 0;
    cache->owner = owner;
    cache->next = NULL;
    cpi_store(&registry->used, cpi_load(&registry->used, relaxed) + 1, relaxed); /* [used] */
    registry->registrations++;
    if (owner != NULL)
        CPI_LIST_ADD(&owner->caches, cache);
    cpi_cache_begin(cache,
                    owner != NULL ? cpi_thread_entry_of(owner, registry->handle) : &cache->own,
                    cache->near == CPI_NEAR_SWAPS, quota, registry->handle);
    return cache;
}

/* With the lock held.  The cache must be empty. */
static void unregister_cache(struct cpi_registry *registry, struct cpi_cache *cache)
{
    CPI_ASSERT(cpi_lock_is_held() && cache->used && cpi_cache_loaded(cache) == 0);
    if (cache->owner != NULL)
        CPI_LIST_REMOVE(cache);
    clear_entry(cpi_cache_active(cache));
    clear_entry(cache->entry);
    if (cache->pointer != NULL) {
        *cache->pointer = cache->none;
        cache->pointer = NULL;
    }
    cache->entry = &cache->own;
    cpi_store(&cache->active, &cache->hidden, release); /* [clear] */
    registry->spares_out -= cache->quota - CPI_QUOTA_MIN;
    cache->owner = NULL;
    cache->used = false;
    cache->next = registry->unused;
    registry->unused = cache;
    cpi_store(&registry->used, cpi_load(&registry->used, relaxed) - 1, relaxed); /* [used] */
}

static bool is_full(const struct cpi_registry *registry)
{
    return cpi_load(&registry->used, relaxed) == registry->max; /* [used] */
}

CPI_COLD static struct cpi_cache *make_own_cache(struct cpi_registry *registry)
{
    struct cpi_cache *cache = NULL;
    struct cpi_thread *thread;

    if (is_full(registry) || !cpi_thread_may_ask())
        return NULL;
    thread = cpi_thread_self();
    if (thread != NULL) {
        cpi_lock();
        /* Making the thread known may have used this pool, if malloc is made of it. */
        cache = cpi_registry_known_cache(registry);
        if (cache == NULL)
            cache = register_cache(registry, thread);
        cpi_unlock();
    }
    if (cache == NULL)
        cpi_thread_pause_asking();
    return cache;
}

struct cpi_cache *cpi_registry_own_cache(struct cpi_registry *registry)
{
    struct cpi_cache *cache = cpi_registry_known_cache(registry);

    return CPI_LIKELY(cache != NULL) ? cache : make_own_cache(registry);
}

int cpi_registry_add_cache(struct cpi_registry *registry, struct cpi_cache **cache)
{
    int code = 0;

    cpi_lock();
    *cache = register_cache(registry, NULL);
    if (*cache == NULL)
        code = is_full(registry) ? CPOOL_ELIMIT : CPOOL_ENOMEM;
    cpi_unlock();
    return code;
}

CPI_COLD void cpi_registry_remove_cache(struct cpi_registry *registry, struct cpi_cache *cache)
{
    cpi_cache_flush(cache);
    cpi_lock();
    unregister_cache(registry, cache);
    cpi_unlock();
}

void cpi_registry_end_caches(struct cpi_registry *registry)
{
    for (size_t i = 0; i < cpi_registry_made(registry); i++) {
        struct cpi_cache *cache = cpi_registry_cache(registry, i);

        if (!cache->used)
            continue;
        cpi_cache_discard(cache);
        unregister_cache(registry, cache);
    }
}

/* --- The end of a thread --- */

/* As long as a thread leaves a pool, the pool is neither reset nor destroyed. */
static void end_leaving(struct cpi_thread *thread)
{
    if (thread->leaves != NULL)
        thread->leaves->leaving--;
    thread->leaves = NULL;
}

CPI_COLD struct cpi_registry *cpi_registry_leave(struct cpi_thread *thread)
{
    struct cpi_registry *registry = NULL;
    struct cpi_cache *cache;

    cpi_lock();
    end_leaving(thread);
    cache = thread->caches;
    if (cache != NULL) {
        registry = cache->registry;
        thread->leaves = registry;
        registry->leaving++;
        cpi_unlock();
        cpi_cache_flush(cache);
        cpi_lock();
        unregister_cache(registry, cache);
    }
    cpi_unlock();
    return registry;
}

void cpi_registry_await_leaving(struct cpi_registry *registry)
{
    unsigned times = 0;

    CPI_ASSERT(cpi_lock_is_held());
    while (registry->leaving > 0) {
        cpi_unlock();
        cpi_os_back_off(times++);
        cpi_lock();
    }
}

/* --- Fork: in the child, with the lock held --- */

/* Puts a cache to rest, as doc/CONCURRENCY.md 5 says of a fork.  The forking thread is inside no
 * cache.  Returns true if the cache was not at rest. */
CPI_COLD static bool put_to_rest(struct cpi_cache *cache)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    uint32_t busy = cpi_load(&cache->busy, acquire);            /* [forked] */
    uintptr_t count = cpi_word_load(&active->count, acquire); /* [forked] */
    bool inside = busy % 2 != 0;

    cpi_store(&cache->calls, 0u, relaxed);                         /* [none] */
    cpi_store(&cache->busy, busy + busy % 2, relaxed);             /* [none] */
    cpi_word_store(&active->count, count & ~CPI_BUSY, relaxed); /* [none] */
    if (inside && (count & CPI_BUSY) != 0) {
        cpi_cache_abandon(cache);
        cpi_cache_flush(cache);
    }
    return inside;
}

CPI_COLD void cpi_registry_thread_vanished(struct cpi_thread *thread)
{
    while (thread->caches != NULL) {
        struct cpi_cache *cache = thread->caches;
        struct cpi_registry *registry = cache->registry;

        if (put_to_rest(cache))
            registry->disturbed = true;
        cpi_cache_flush(cache);
        cache->pointer = NULL; /* nobody reads it any more, and its memory may be gone */
        unregister_cache(registry, cache);
    }
    end_leaving(thread);
}

/* The caches that survive are the forking thread's and those that no thread owns.  A thread that
 * vanished may have been using one of the latter, whose handle stays valid. */
CPI_COLD void cpi_registry_mend(struct cpi_registry *registry)
{
    registry->forks++;
    cpi_store(&registry->closed, 0, relaxed); /* [none] */
    if (cpi_depot_forked(registry->depot))
        registry->disturbed = true;
    for (size_t i = 0; i < cpi_registry_made(registry); i++) {
        struct cpi_cache *cache = cpi_registry_cache(registry, i);

        if (cache->used && put_to_rest(cache))
            registry->disturbed = true;
    }
    if (registry->disturbed)
        cpi_registry_recount(registry);
    registry->disturbed = false;
}

/* --- All registries --- */

void cpi_registry_init(struct cpi_registry *registry, struct cpi_pool *pool, struct cpi_slab *slab,
                       struct cpi_depot *depot, size_t quota_max)
{
    registry->pool = pool;
    registry->slab = slab;
    registry->depot = depot;
    registry->quota_max = (uint32_t)quota_max;
    registry->stride = cpi_registry_bytes(1, quota_max);
}

CPI_COLD struct cpi_registry *cpi_registry_next(const struct cpi_registry *registry)
{
    CPI_ASSERT(cpi_lock_is_held());
    return registry != NULL ? registry->next : registries;
}

void cpi_registry_add(struct cpi_registry *registry, cpool_t *handle)
{
    registry->handle = handle;
    CPI_LIST_ADD(&registries, registry);
}
