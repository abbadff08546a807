/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease.c - the magazines of a lease.
 *
 * ORDERING TABLE
 *   own   | entry count, rest and top load | relaxed | - | -
 *   show  | entry count store       | release | recall.c's shown | the rounds left
 *   chain | rest, top, a count and a round store | release | the child of a fork | links and
 *                                               counts; that a slot has left its old place
 *
 * The members of `leased` have one writer at a time: the owner while it is inside, a
 * thread that has the cache locked, or the holder of the lock after the owner has gone.
 * Marks and locks order them (recall.h).  The releases keep the stores in order for the
 * child of a fork.  It finds a chain that is whole.  A magazine that its owner had in hand
 * may be missing, and none is in two places.
 */
#include "lease.h"

#include "atomic.h"
#include "cache_swap.h"
#include "os.h"
#include "recall.h"

/* Magazines of the chain that are searched for a promoted slot: the newest ones. */
#define CPI_LEASE_SEARCH 2u

static uint32_t rest_of(const struct cpi_cache *cache)
{
    return cpi_load(&cache->leased.rest, relaxed); /* [own] */
}

static uint32_t top_of(const struct cpi_cache *cache)
{
    return cpi_load(&cache->leased.top, relaxed); /* [own] */
}

static void set_rest(struct cpi_cache *cache, uint32_t node)
{
    cpi_store(&cache->leased.rest, node, release); /* [chain] */
}

/* One round less, after the magazine has left the chain. */
static void shorten(struct cpi_cache *cache, uint32_t node, uint32_t count)
{
    cpi_store(&magazine_of(cache, node)->count, count, release); /* [chain] */
}

static uint32_t count_of(const struct cpi_cache *cache, uint32_t node)
{
    return cpi_magazine_count(magazine_of(cache, node));
}

/* --- Keeping magazines --- */

/* Puts `length` linked magazines, all full, on top of the chain. */
static void keep_chain(struct cpi_cache *cache, uint32_t top, uint32_t bottom, uint32_t length)
{
    struct cpi_leased *leased = &cache->leased;

    cpi_tagstack_chain(&cache->depot->links, bottom, top_of(cache));
    if (top_of(cache) == 0)
        leased->bottom = bottom;
    leased->length += length;
    cpi_store(&leased->top, top, release); /* [chain] */
}

static void keep_full(struct cpi_cache *cache, uint32_t node)
{
    CPI_ASSERT(count_of(cache, node) == cache->depot->limit);
    keep_chain(cache, node, node, 1);
}

/* Keeps a magazine of slots that were handed out. */
static void keep(struct cpi_cache *cache, uint32_t node)
{
    uint32_t limit = cache->depot->limit;
    uint32_t rest = rest_of(cache);

    if (count_of(cache, node) < limit && rest != 0) {
        cpi_magazine_move(magazine_of(cache, node), magazine_of(cache, rest), limit);
        if (count_of(cache, rest) < limit) {
            cpi_depot_give(cache->depot, &cache->counters, node); /* it is empty */
            return;
        }
        set_rest(cache, 0);
        keep_full(cache, rest);
    }
    if (count_of(cache, node) == limit)
        keep_full(cache, node);
    else if (count_of(cache, node) == 0)
        cpi_depot_give(cache->depot, &cache->counters, node);
    else
        set_rest(cache, node);
}

/* The loaded magazine has no free rounds any more. */
static void retire(struct cpi_cache *cache)
{
    uint32_t filled = cache->leased.filled;
    uint32_t node = cpi_cache_detach(cache);

    cache->leased.filled = 0;
    if (node == 0)
        return;
    CPI_ASSERT(count_of(cache, node) == 0 && filled <= cache->depot->limit);
    cpi_magazine_set_count(magazine_of(cache, node), filled);
    keep(cache, node);
}

/* --- The owner's operations --- */

/* The inline path of a free that is given the lease's handle leads out of line, where the
 * handle is refused. */
static void refuse_frees(struct cpi_cache *cache)
{
    cpi_cache_active(cache)->bound = 0;
}

void *cpi_lease_take(struct cpi_cache *cache)
{
    void *slot = cpi_cache_pop(cache);

    if (slot != NULL)
        return slot;
    retire(cache);
    if (!cpi_cache_refill(cache))
        return NULL;
    refuse_frees(cache);
    cache->leased.filled = (uint32_t)active_count(cache);
    return cpi_cache_pop(cache);
}

bool cpi_lease_adopt(struct cpi_cache *cache, void *slot)
{
    uint32_t node = rest_of(cache);
    struct cpi_magazine *magazine;
    uint32_t count;

    if (node == 0)
        node = cpi_depot_take_empty(cache->depot, &cache->counters);
    if (node == 0)
        return false;
    set_rest(cache, 0);
    magazine = magazine_of(cache, node);
    count = cpi_magazine_count(magazine);
    CPI_ASSERT(count < cache->depot->limit);
    magazine->rounds[count] = slot;
    cpi_magazine_set_count(magazine, count + 1);
    keep(cache, node);
    return true;
}

bool cpi_lease_adopt_commonly(struct cpi_lease *lease, void *slot)
{
    bool done;

    CPI_ASSERT(cpi_lock_is_held());
    cpi_recall_use(lease->common);
    cpi_recall_mark(lease->common);
    done = cpi_lease_adopt(lease->common, slot);
    cpi_recall_leave(lease->common);
    return done;
}

void cpi_lease_drop(struct cpi_cache *cache)
{
    struct cpi_magazine *magazine = magazine_of(cache, cpi_cache_loaded(cache));

    magazine->rounds[active_count(cache)] = magazine->rounds[--cache->leased.filled];
}

/* Takes the newest magazine off the chain.  Returns 0 if there is none. */
static uint32_t unchain(struct cpi_cache *cache)
{
    uint32_t node = top_of(cache);

    if (node != 0) {
        cpi_store(&cache->leased.top, cpi_tagstack_below(&cache->depot->links, node),
                  release); /* [chain] */
        cache->leased.length--;
    }
    return node;
}

/* One of the slots that were handed out leaves the magazines, or NULL if there is none. */
static void *take_last(struct cpi_cache *cache)
{
    uint32_t node = rest_of(cache);
    uint32_t count;
    void *slot;

    if (cache->leased.filled > active_count(cache))
        return magazine_of(cache, cpi_cache_loaded(cache))->rounds[--cache->leased.filled];
    if (node == 0)
        node = unchain(cache);
    if (node == 0)
        return NULL;
    count = count_of(cache, node) - 1;
    slot = magazine_of(cache, node)->rounds[count];
    shorten(cache, node, count);
    set_rest(cache, count > 0 ? node : 0);
    if (count == 0)
        cpi_depot_give(cache->depot, &cache->counters, node);
    return slot;
}

static void **find_in(struct cpi_magazine *magazine, uint32_t from, uint32_t to, const void *slot)
{
    uint32_t i;

    for (i = from; i < to; i++)
        if (magazine->rounds[i] == slot)
            return &magazine->rounds[i];
    return NULL;
}

/* Where the slot stands, if it was handed out lately. */
static void **find_lately(struct cpi_cache *cache, const void *slot)
{
    uint32_t node = cpi_cache_loaded(cache);
    void **place = NULL;
    uint32_t i;

    if (node != 0)
        place = find_in(magazine_of(cache, node), (uint32_t)active_count(cache),
                        cache->leased.filled, slot);
    node = rest_of(cache);
    if (place == NULL && node != 0)
        place = find_in(magazine_of(cache, node), 0, count_of(cache, node), slot);
    node = top_of(cache);
    for (i = 0; place == NULL && node != 0 && i < CPI_LEASE_SEARCH; i++) {
        place = find_in(magazine_of(cache, node), 0, cache->depot->limit, slot);
        node = cpi_tagstack_below(&cache->depot->links, node);
    }
    return place;
}

bool cpi_lease_let_go(struct cpi_cache *cache, const void *slot)
{
    void **place = find_lately(cache, slot);
    void *last;

    if (place == NULL)
        return false;
    last = take_last(cache);
    if (last != slot)
        cpi_word_store(place, last, release); /* [chain] */
    return true;
}

void *cpi_lease_pop(struct cpi_cache *common)
{
    void *slot;

    cpi_recall_use(common);
    cpi_recall_mark(common);
    slot = take_last(common);
    cpi_recall_leave(common);
    return slot;
}

/* --- Free rounds that go elsewhere --- */

uint32_t cpi_lease_detach_free(struct cpi_cache *cache, struct cpi_counters *counters)
{
    uint32_t node = cpi_cache_loaded(cache);
    uint32_t count = (uint32_t)active_count(cache);
    struct cpi_magazine *loaded;
    uint32_t empty;
    uint32_t i;

    if (node == 0 || count == 0)
        return 0;
    empty = cpi_depot_take_empty(cache->depot, counters);
    if (empty == 0)
        return 0;
    loaded = magazine_of(cache, node);
    CPI_ASSERT(count <= cache->leased.filled);
    for (i = 0; i < count; i++)
        magazine_of(cache, empty)->rounds[i] = loaded->rounds[i];
    cpi_word_store(&cpi_cache_active(cache)->count, 0, release); /* [show] */
    cache->leased.filled -= count;
    for (i = 0; i < cache->leased.filled; i++)
        loaded->rounds[i] = loaded->rounds[i + count];
    cpi_magazine_set_count(magazine_of(cache, empty), count);
    return empty;
}

/* Gives the free rounds back, and retires the loaded magazine.  The owner, inside, or the
 * holder of a place that has the cache. */
static void withdraw(struct cpi_cache *cache, struct cpi_counters *counters)
{
    uint32_t node = cpi_lease_detach_free(cache, counters);

    (void)cpi_chaos_step(cache->depot->chaos);
    if (node != 0)
        cpi_depot_give(cache->depot, counters, node);
    retire(cache);
}

void cpi_lease_retreat(struct cpi_cache *cache)
{
    unsigned times = 0;

    while (!cpi_recall_enter(cache))
        cpi_os_back_off(times++);
    withdraw(cache, &cache->counters);
    cpi_recall_leave(cache);
}

/* --- The common cache --- */

/* A thread vanished while it put a magazine on its chain. */
static void recount(struct cpi_cache *cache)
{
    uint32_t node = top_of(cache);

    cache->leased.length = 0;
    for (; node != 0; node = cpi_tagstack_below(&cache->depot->links, node))
        cache->leased.length++;
}

/* The common cache takes over the magazines of another cache, which has no free rounds
 * any more.  With the lock held. */
static void take_over(struct cpi_cache *common, struct cpi_cache *cache)
{
    struct cpi_leased *leased = &cache->leased;
    uint32_t rest = rest_of(cache);

    CPI_ASSERT(cpi_lock_is_held() && leased->filled == 0 && cpi_cache_loaded(cache) == 0);
    cpi_recall_use(common);
    cpi_recall_mark(common);
    (void)cpi_chaos_step(common->depot->chaos);
    if (top_of(cache) != 0)
        keep_chain(common, top_of(cache), leased->bottom, leased->length);
    cpi_store(&leased->top, 0, release); /* [chain] */
    leased->length = 0;
    set_rest(cache, 0);
    if (rest != 0)
        keep(common, rest);
    cpi_recall_leave(common);
}

void cpi_lease_inherit(struct cpi_cache *cache, bool vanished)
{
    if (vanished) {
        if (cpi_cache_loaded(cache) == 0)
            cache->leased.filled = 0; /* the loaded one was left behind */
        recount(cache);
        withdraw(cache, &cache->counters);
    }
    take_over(cache->leased.lease->common, cache);
}

/* Has all caches of the lease at rest, for the holder of the place that is returned.  NULL
 * if the lease has ended.  The lock is given up while another thread is at work in one of
 * them, or while all places have holders, because one of these threads may have to fork
 * first, as a signal handler. */
static struct cpi_uncached *close_caches(struct cpi_lease *lease, const cpool_t *handle,
                                         bool *at_rest)
{
    unsigned times = 0;

    for (;;) {
        struct cpi_uncached *place;

        cpi_registry_await_leaving(lease->registry);
        if (!cpi_lease_is_open(lease, handle))
            return NULL;
        place = cpi_registry_try_enter(lease->registry);
        if (place != NULL && cpi_recall_close(lease->caches, place, at_rest))
            return place;
        if (place != NULL)
            cpi_registry_leave(lease->registry, place);
        cpi_unlock();
        cpi_os_back_off(times++);
        cpi_lock();
    }
}

static void gather_from(struct cpi_lease *lease, struct cpi_cache *cache,
                        struct cpi_uncached *place)
{
    withdraw(cache, &place->counters);
    take_over(lease->common, cache);
}

bool cpi_lease_gather(struct cpi_lease *lease, cpool_t *handle, bool stay, bool *at_rest)
{
    struct cpi_uncached *place = close_caches(lease, handle, at_rest);
    struct cpi_cache *cache;
    struct cpi_cache *next;

    if (place == NULL)
        return false;
    if (!stay)
        cpi_handle_set_lease(handle, 0);
    for (cache = lease->caches; cache != NULL; cache = next) {
        next = cache->leased.next;
        (void)cpi_chaos_step(cache->depot->chaos);
        if (cache != lease->common)
            gather_from(lease, cache, place);
        /* A late alloc that waits for the cache must find it without a lease. */
        if (!stay && cache != lease->common)
            cpi_registry_end_leased(lease->registry, cache);
        cpi_recall_open(cache);
    }
    cpi_registry_leave(lease->registry, place);
    return true;
}

static void walk_magazine(struct cpi_magazine *magazine, cpi_lease_visit *visit, void *context)
{
    uint32_t i;

    for (i = 0; i < cpi_magazine_count(magazine); i++)
        visit(context, &magazine->rounds[i]);
}

void cpi_lease_walk(const struct cpi_cache *common, cpi_lease_visit *visit, void *context)
{
    uint32_t rest = rest_of(common);
    uint32_t node;

    if (rest != 0)
        walk_magazine(magazine_of(common, rest), visit, context);
    for (node = top_of(common); node != 0;
         node = cpi_tagstack_below(&common->depot->links, node))
        walk_magazine(magazine_of(common, node), visit, context);
}

size_t cpi_lease_give(struct cpi_cache *common)
{
    struct cpi_leased *leased = &common->leased;
    size_t slots = (size_t)leased->length * common->depot->limit;
    uint32_t rest = rest_of(common);

    cpi_recall_use(common);
    cpi_recall_mark(common);
    (void)cpi_chaos_step(common->depot->chaos);
    if (top_of(common) != 0)
        cpi_depot_give_chain(common->depot, &common->counters, top_of(common), leased->bottom,
                             leased->length);
    cpi_store(&leased->top, 0, release); /* [chain] */
    leased->length = 0;
    set_rest(common, 0);
    if (rest != 0) {
        slots += count_of(common, rest);
        cpi_depot_give(common->depot, &common->counters, rest);
    }
    cpi_recall_leave(common);
    return slots;
}
