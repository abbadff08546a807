/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease.c - the caches of a lease, and the magazines of slots handed out.
 *
 * ORDERING TABLE
 *   own   | entry count, rest and top load | relaxed | - | -
 *   show  | entry count store       | release | mark.c's shown | the rounds left
 *   open  | pending store           | relaxed | - | -
 *   look  | pending load            | acquire | lease.h's marked | the slot's word and bit
 *   chain | rest and top store      | release | the child of a fork | links and counts; that a
 *                                               magazine has left its old place
 *   move  | filled, round store     | release | the child of a fork | which slots are on record
 *
 * The members of struct cpi_leased have one writer at a time: the owner while it is inside, a
 * thread that has the cache locked, or the holder of the lock after the owner has gone.
 * Marks and locks order them (mark.h).  The releases keep the stores in order for the
 * child of a fork, which finds a whole chain.  A magazine in its owner's hands may be
 * missing, and none is in two places.
 */
#include "lease/lease.h"

#include "base/atomic.h"
#include "cache/cache_swap.h"
#include "host/os.h"
#include "cache/mark.h"
#include "host/thread.h"

static struct cpi_leased *leased_of(const struct cpi_cache *cache)
{
    return cache->data;
}

/* --- The record --- */

static uint32_t rest_of(const struct cpi_cache *cache)
{
    return cpi_load(&leased_of(cache)->rest, relaxed); /* [own] */
}

static void set_rest(struct cpi_cache *cache, uint32_t node)
{
    cpi_store(&leased_of(cache)->rest, node, release); /* [chain] */
}

static uint32_t top_of(const struct cpi_cache *cache)
{
    return cpi_load(&leased_of(cache)->top, relaxed); /* [own] */
}

static void set_top(struct cpi_cache *cache, uint32_t node)
{
    cpi_store(&leased_of(cache)->top, node, release); /* [chain] */
}

static uint32_t count_of(const struct cpi_cache *cache, uint32_t node)
{
    return cpi_magazine_count(cpi_cache_magazine(cache, node));
}

/* Puts `length` linked magazines, all full, on top of the chain. */
static void add_chain(struct cpi_cache *cache, uint32_t top, uint32_t bottom, uint32_t length)
{
    struct cpi_leased *leased = leased_of(cache);

    cpi_tagstack_chain(&cache->depot->links, bottom, top_of(cache));
    if (top_of(cache) == 0)
        leased->bottom = bottom;
    leased->length += length;
    set_top(cache, top);
}

/* A magazine of slots that were handed out joins the record.  Of two that are not full one
 * is filled up from the other. */
static void add_magazine(struct cpi_cache *cache, uint32_t node)
{
    uint32_t limit = cache->depot->limit;
    uint32_t rest = rest_of(cache);

    if (rest != 0 && count_of(cache, node) < limit) {
        cpi_magazine_move(cpi_cache_magazine(cache, node), cpi_cache_magazine(cache, rest), limit);
        if (count_of(cache, rest) == limit) {
            set_rest(cache, 0);
            add_chain(cache, rest, rest, 1);
        }
    }
    if (count_of(cache, node) == limit)
        add_chain(cache, node, node, 1);
    else if (count_of(cache, node) == 0)
        cpi_depot_give(cache->depot, &cache->counters, node);
    else
        set_rest(cache, node);
}

/* The loaded magazine joins the record, with free rounds that found no empty magazine. */
static void add_loaded(struct cpi_cache *cache)
{
    uint32_t filled = leased_of(cache)->filled;
    uint32_t node = cpi_cache_detach(cache);

    leased_of(cache)->filled = 0;
    if (node == 0)
        return;
    CPI_ASSERT(count_of(cache, node) <= filled && filled <= cache->depot->limit);
    cpi_magazine_set_count(cpi_cache_magazine(cache, node), filled);
    add_magazine(cache, node);
}

/* A thread vanished while it put a magazine on its chain. */
static void recount_chain(struct cpi_cache *cache)
{
    uint32_t node = top_of(cache);

    leased_of(cache)->length = 0;
    for (; node != 0; node = cpi_tagstack_below(&cache->depot->links, node))
        leased_of(cache)->length++;
}

/* --- The owner's operations --- */

/* The inline path of a free that is given the lease's handle leads out of line, where the
 * handle is refused. */
static void refuse_frees(struct cpi_cache *cache)
{
    cpi_cache_active(cache)->bound = 0;
}

void *cpi_lease_alloc(struct cpi_cache *cache)
{
    void *slot = cpi_cache_pop(cache);

    if (slot != NULL)
        return slot;
    add_loaded(cache);
    if (!cpi_cache_refill(cache)) {
        refuse_frees(cache); /* an empty magazine may be loaded now */
        return NULL;
    }
    refuse_frees(cache);
    leased_of(cache)->filled = (uint32_t)cpi_cache_count(cache);
    return cpi_cache_pop(cache);
}

static bool is_pending(const struct cpi_cache *cache)
{
    return cpi_load(&leased_of(cache)->pending, acquire); /* [look] */
}

/* Where the slot is not found, a report's handler has obtained others under the lease. */
void cpi_lease_undo(struct cpi_cache *cache, const void *slot)
{
    uint32_t node = cpi_cache_loaded(cache);
    struct cpi_magazine *magazine = cpi_cache_magazine(cache, node);
    uintptr_t i;

    for (i = cpi_cache_count(cache); node != 0 && i < leased_of(cache)->filled; i++)
        if (magazine->rounds[i] == slot) {
            magazine->rounds[i] = magazine->rounds[--leased_of(cache)->filled];
            return;
        }
}

bool cpi_lease_record(struct cpi_cache *cache, void *slot)
{
    uint32_t node = rest_of(cache);
    struct cpi_magazine *magazine;
    uint32_t count;

    if (node == 0)
        node = cpi_depot_take_empty(cache->depot, &cache->counters);
    if (node == 0)
        return false;
    set_rest(cache, 0);
    magazine = cpi_cache_magazine(cache, node);
    count = cpi_magazine_count(magazine);
    CPI_ASSERT(count < cache->depot->limit);
    magazine->rounds[count] = slot;
    cpi_magazine_set_count(magazine, count + 1);
    add_magazine(cache, node);
    return true;
}

/* --- Free rounds that go elsewhere --- */

/* Moves the last rounds to the front.  They are off the record before, so that the owner's child
 * in a fork, which may go on in the middle of a theft, finds no slot there twice. */
static void close_gap(struct cpi_leased *leased, void **rounds, uint32_t count)
{
    uint32_t filled = leased->filled - count;
    uint32_t moved = filled < count ? filled : count;
    uint32_t i;

    cpi_word_store(&leased->filled, filled, release); /* [move] */
    for (i = 0; i < moved; i++)
        cpi_word_store(&rounds[i], rounds[filled + count - moved + i], release); /* [move] */
}

static uint32_t detach_free(struct cpi_cache *cache, struct cpi_counters *counters)
{
    uint32_t node = cpi_cache_loaded(cache);
    uint32_t count = (uint32_t)cpi_cache_count(cache);
    struct cpi_magazine *loaded;
    uint32_t empty;
    uint32_t i;

    if (node == 0 || count == 0)
        return 0;
    empty = cpi_depot_take_empty(cache->depot, counters);
    if (empty == 0)
        return 0;
    loaded = cpi_cache_magazine(cache, node);
    CPI_ASSERT(count <= leased_of(cache)->filled);
    for (i = 0; i < count; i++)
        cpi_cache_magazine(cache, empty)->rounds[i] = loaded->rounds[i];
    cpi_word_store(&cpi_cache_active(cache)->count, 0, release); /* [show] */
    close_gap(leased_of(cache), loaded->rounds, count);
    cpi_magazine_set_count(cpi_cache_magazine(cache, empty), count);
    return empty;
}

/* Gives the free rounds back.  The loaded magazine joins the record.  The owner, inside, or
 * the holder of a place that has the cache. */
static void give_free(struct cpi_cache *cache, struct cpi_counters *counters)
{
    uint32_t node = detach_free(cache, counters);

    if (node != 0)
        cpi_depot_give(cache->depot, counters, node);
    add_loaded(cache);
}

/* --- The common cache --- */

static void enter_common(struct cpi_cache *common)
{
    cpi_mark_use(common);
    cpi_mark_enter(common);
}

bool cpi_lease_record_commonly(struct cpi_lease *lease, void *slot)
{
    bool done;

    CPI_ASSERT(cpi_lock_is_held());
    enter_common(lease->common);
    done = cpi_lease_record(lease->common, slot);
    cpi_mark_leave(lease->common);
    return done;
}

/* The common cache gets the record of a cache that has no free rounds any more.  With the
 * lock held. */
static void move_record(struct cpi_cache *common, struct cpi_cache *cache)
{
    struct cpi_leased *leased = leased_of(cache);
    uint32_t rest = rest_of(cache);

    CPI_ASSERT(cpi_lock_is_held() && cpi_cache_loaded(cache) == 0);
    enter_common(common);
    if (top_of(cache) != 0)
        add_chain(common, top_of(cache), leased->bottom, leased->length);
    set_top(cache, 0);
    leased->length = 0;
    set_rest(cache, 0);
    if (rest != 0)
        add_magazine(common, rest);
    cpi_mark_leave(common);
}

uint32_t cpi_lease_take_magazine(struct cpi_cache *common)
{
    uint32_t node = rest_of(common);

    enter_common(common);
    if (node != 0) {
        set_rest(common, 0);
    } else if ((node = top_of(common)) != 0) {
        set_top(common, cpi_tagstack_below(&common->depot->links, node));
        leased_of(common)->length--;
    }
    cpi_mark_leave(common);
    return node;
}

void cpi_lease_give_magazine(struct cpi_cache *common, uint32_t node)
{
    enter_common(common);
    cpi_depot_give(common->depot, &common->counters, node);
    cpi_mark_leave(common);
}

size_t cpi_lease_give_all(struct cpi_cache *common)
{
    struct cpi_leased *leased = leased_of(common);
    size_t slots = (size_t)leased->length * common->depot->limit;
    uint32_t rest = rest_of(common);

    enter_common(common);
    if (top_of(common) != 0)
        cpi_depot_give_chain(common->depot, &common->counters, top_of(common), leased->bottom,
                             leased->length);
    set_top(common, 0);
    leased->length = 0;
    set_rest(common, 0);
    if (rest != 0) {
        slots += count_of(common, rest);
        cpi_depot_give(common->depot, &common->counters, rest);
    }
    cpi_mark_leave(common);
    return slots;
}

/* --- Threads come and go --- */

/* With the lock held.  The cache is a thread's. */
static void unlink_cache(struct cpi_cache *cache)
{
    struct cpi_cache **link = &leased_of(cache)->lease->caches;

    while (*link != cache)
        link = &leased_of(*link)->next;
    *link = leased_of(cache)->next;
    leased_of(cache)->lease = NULL;
}

static void retreat(struct cpi_cache *cache)
{
    unsigned times = 0;

    while (!cpi_mark_try_enter(cache))
        cpi_os_back_off(times++);
    give_free(cache, &cache->counters);
    cpi_mark_leave(cache);
}

static void inherit(struct cpi_cache *cache, bool vanished)
{
    if (vanished) {
        recount_chain(cache);
        give_free(cache, &cache->counters);
    }
    move_record(leased_of(cache)->lease->common, cache);
    unlink_cache(cache);
}

static const struct cpi_owner lease_owner = {detach_free, retreat, inherit};

/* With the lock held. */
static struct cpi_cache *add_cache(struct cpi_lease *lease, struct cpi_thread *owner)
{
    struct cpi_cache *cache =
        cpi_registry_add_other(lease->registry, &lease_owner, lease->handle, owner);

    if (cache == NULL)
        return NULL;
    cache->data = &lease->leased[cpi_registry_number(lease->registry, cache)];
    leased_of(cache)->lease = lease;
    leased_of(cache)->filled = 0;
    leased_of(cache)->length = 0;
    cpi_store(&leased_of(cache)->pending, false, relaxed); /* [open] */
    set_rest(cache, 0);
    set_top(cache, 0);
    return cache;
}

struct cpi_cache *cpi_lease_join(struct cpi_lease *lease, const cpool_t *handle)
{
    struct cpi_cache *cache = NULL;
    struct cpi_thread *thread;
    bool open = true;

    if (!cpi_thread_may_ask())
        return NULL;
    thread = cpi_thread_self();
    if (thread != NULL) {
        cpi_lock();
        cache = cpi_thread_entry(handle)->home;
        open = cpi_lease_is_open(lease, handle);
        if (cache == NULL && open) {
            cache = add_cache(lease, thread);
            if (cache != NULL) {
                leased_of(cache)->next = lease->caches;
                lease->caches = cache;
            }
        }
        cpi_unlock();
    }
    if (cache == NULL && open)
        cpi_thread_refused();
    return cache;
}

/* --- Begin and end --- */

bool cpi_lease_open(struct cpi_lease *lease, struct cpi_registry *registry,
                    struct cpi_leased *leased, cpool_t *handle)
{
    lease->registry = registry;
    lease->leased = leased;
    lease->caches = NULL;
    lease->handle = handle;
    lease->common = add_cache(lease, NULL);
    if (lease->common == NULL) {
        cpi_lease_forget(lease);
        return false;
    }
    cpi_handle_set_lease(handle, (uintptr_t)lease);
    return true;
}

enum locking { LOCKED, STOLEN_FROM, IN_USE };

static void unlock_until(struct cpi_cache *cache, const struct cpi_cache *end)
{
    for (; cache != end; cache = leased_of(cache)->next)
        cpi_mark_unlock(cache);
}

/* Locks the caches of all threads for the holder of a place, or none: a stealing thread has
 * one, or its owner is inside. */
static enum locking lock_caches(const struct cpi_lease *lease, const struct cpi_uncached *place)
{
    const struct cpi_cache *own = cpi_thread_entry(lease->handle)->home;
    struct cpi_cache *first = lease->caches;
    struct cpi_cache *cache;
    bool others = false;

    for (cache = first; cache != NULL; cache = leased_of(cache)->next) {
        if (!cpi_mark_lock(cache, place)) {
            unlock_until(first, cache);
            return STOLEN_FROM;
        }
        others = others || cache != own;
    }
    if (others)
        cpi_mark_barrier(&first->registry->barriers);
    for (cache = first; cache != NULL; cache = leased_of(cache)->next)
        /* A handler of the own thread's report may have gone elsewhere, and left it pending. */
        if (cpi_mark_is_inside(cache) || (cache != own && is_pending(cache))) {
            unlock_until(first, NULL);
            return IN_USE;
        }
    return LOCKED;
}

/* The same for a lease, for the holder of the place that is returned, or NULL: the lease has
 * ended, or is in use.  The lock is free while a stealing thread has a cache, or all places
 * have holders, because one of these threads may have to fork first, as a signal handler. */
static struct cpi_uncached *lock_lease(struct cpi_lease *lease, const cpool_t *handle)
{
    unsigned times = 0;

    for (;;) {
        enum locking locking = STOLEN_FROM;
        struct cpi_uncached *place;

        cpi_registry_await_leaving(lease->registry, false);
        if (!cpi_lease_is_open(lease, handle))
            return NULL;
        place = cpi_place_try_enter(&lease->registry->places);
        if (place != NULL)
            locking = lock_caches(lease, place);
        if (locking == LOCKED)
            return place;
        if (place != NULL)
            cpi_place_leave(&lease->registry->places, place);
        if (locking == IN_USE)
            return NULL;
        cpi_unlock();
        cpi_os_back_off(times++);
        cpi_lock();
    }
}

struct cpi_uncached *cpi_lease_close(struct cpi_lease *lease, cpool_t *handle)
{
    struct cpi_uncached *place = lock_lease(lease, handle);
    struct cpi_cache *cache;

    if (place == NULL)
        return NULL;
    cpi_handle_set_lease(handle, 0);
    while ((cache = lease->caches) != NULL) {
        give_free(cache, &place->counters);
        move_record(lease->common, cache);
        unlink_cache(cache);
        cpi_registry_end_other(lease->registry, cache);
        cpi_mark_unlock(cache);
    }
    return place;
}
