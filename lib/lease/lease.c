/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease.c - the caches of a lease, and the magazines of slots handed out.
 *
 * ORDERING TABLE
 *   own   | entry count, rest and top load | relaxed | - | -
 *   show  | entry count store       | release | mark.c's shown | the rounds left
 *   open  | pending store           | relaxed | - | -
 *   chain | rest and top store      | release | the child of a fork | links and counts; that a
 *                                               magazine has left its old place
 *   move  | filled, round store     | release | the child of a fork | which slots are on record
 *   listed | caches and next load and store | relaxed | - | - (the lock)
 *   gone  | caches and next store   | release | lease.h's alone | that the record is the common
 *                                                               cache's
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

/* --- The record --- */

static uint32_t rest_of(const struct cpi_cache *cache)
{
    return cpi_load(&cpi_leased_of(cache)->rest, relaxed); /* [own] */
}

static void set_rest(struct cpi_cache *cache, uint32_t node)
{
    cpi_store(&cpi_leased_of(cache)->rest, node, release); /* [chain] */
}

static uint32_t top_of(const struct cpi_cache *cache)
{
    return cpi_load(&cpi_leased_of(cache)->top, relaxed); /* [own] */
}

static void set_top(struct cpi_cache *cache, uint32_t node)
{
    cpi_store(&cpi_leased_of(cache)->top, node, release); /* [chain] */
}

static uint32_t count_of(const struct cpi_cache *cache, uint32_t node)
{
    return cpi_magazine_count(cpi_cache_magazine(cache, node));
}

/* Puts `length` linked magazines, all full, on top of the chain. */
static void add_chain(struct cpi_cache *cache, uint32_t top, uint32_t bottom, uint32_t length)
{
    struct cpi_leased *leased = cpi_leased_of(cache);

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
    uint32_t filled = cpi_leased_of(cache)->filled;
    uint32_t node = cpi_cache_detach(cache);

    cpi_leased_of(cache)->filled = 0;
    if (node == 0)
        return;
    CPI_ASSERT(count_of(cache, node) <= filled && filled <= cache->depot->limit);
    cpi_magazine_set_count(cpi_cache_magazine(cache, node), filled);
    add_magazine(cache, node);
}

/* Takes a magazine off the record, or returns 0. */
static uint32_t take_magazine(struct cpi_cache *cache)
{
    uint32_t node = rest_of(cache);

    if (node != 0) {
        set_rest(cache, 0);
    } else if ((node = top_of(cache)) != 0) {
        set_top(cache, cpi_tagstack_below(&cache->depot->links, node));
        cpi_leased_of(cache)->length--;
    }
    return node;
}

/* A thread vanished while it put a magazine on its chain. */
static void recount_chain(struct cpi_cache *cache)
{
    uint32_t node = top_of(cache);

    cpi_leased_of(cache)->length = 0;
    for (; node != 0; node = cpi_tagstack_below(&cache->depot->links, node))
        cpi_leased_of(cache)->length++;
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
    cpi_leased_of(cache)->filled = (uint32_t)cpi_cache_count(cache);
    return cpi_cache_pop(cache);
}

/* Where the slot is not found, a report's handler has obtained others under the lease. */
void cpi_lease_undo(struct cpi_cache *cache, const void *slot)
{
    uint32_t node = cpi_cache_loaded(cache);
    struct cpi_magazine *magazine = cpi_cache_magazine(cache, node);
    uintptr_t i;

    for (i = cpi_cache_count(cache); node != 0 && i < cpi_leased_of(cache)->filled; i++)
        if (magazine->rounds[i] == slot) {
            magazine->rounds[i] = magazine->rounds[--cpi_leased_of(cache)->filled];
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

/* A magazine at a time, so that the child of a fork misses one at most.  Where none is loaded any
 * more, because a stealing thread had vanished, `filled` is of one that was. */
size_t cpi_lease_reset_own(struct cpi_cache *cache)
{
    uint32_t filled = cpi_cache_loaded(cache) != 0 ? cpi_leased_of(cache)->filled : 0;
    size_t slots = filled - cpi_cache_count(cache);
    uint32_t node;

    CPI_ASSERT(cpi_cache_count(cache) <= filled);
    cpi_cache_show_count(cache, filled);
    cpi_cache_count_free(cache);
    while ((node = take_magazine(cache)) != 0) {
        slots += count_of(cache, node);
        atomic_signal_fence(memory_order_seq_cst); /* a child finds no link of the depot's below */
        cpi_depot_give(cache->depot, &cache->counters, node);
    }
    return slots;
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
    CPI_ASSERT(count <= cpi_leased_of(cache)->filled);
    for (i = 0; i < count; i++)
        cpi_cache_magazine(cache, empty)->rounds[i] = loaded->rounds[i];
    cpi_word_store(&cpi_cache_active(cache)->count, 0, release); /* [show] */
    close_gap(cpi_leased_of(cache), loaded->rounds, count);
    cpi_magazine_set_count(cpi_cache_magazine(cache, empty), count);
    return empty;
}

void cpi_lease_give_free(struct cpi_cache *cache, struct cpi_counters *counters)
{
    uint32_t node = detach_free(cache, counters);

    if (node != 0)
        cpi_depot_give(cache->depot, counters, node);
    add_loaded(cache);
}

/* --- The common cache --- */

static void enter_common(struct cpi_cache *common)
{
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

void cpi_lease_move_record(struct cpi_cache *common, struct cpi_cache *cache)
{
    struct cpi_leased *leased = cpi_leased_of(cache);
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
    uint32_t node;

    enter_common(common);
    node = take_magazine(common);
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
    struct cpi_leased *leased = cpi_leased_of(common);
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

void cpi_lease_unlink(struct cpi_cache *cache)
{
    struct cpi_cache *_Atomic *link = &cpi_leased_of(cache)->lease->caches;

    while (cpi_load(link, relaxed) != cache)                   /* [listed] */
        link = &cpi_leased_of(cpi_load(link, relaxed))->next; /* [listed] */
    cpi_store(link, cpi_lease_next(cache), release);          /* [gone] */
    cpi_leased_of(cache)->lease = NULL;
}

static void retreat(struct cpi_cache *cache)
{
    unsigned times = 0;

    while (!cpi_mark_try_enter(cache))
        cpi_os_back_off(times++);
    cpi_lease_give_free(cache, &cache->counters);
    cpi_mark_leave(cache);
}

static void inherit(struct cpi_cache *cache, bool vanished)
{
    if (vanished) {
        recount_chain(cache);
        cpi_lease_give_free(cache, &cache->counters);
    }
    cpi_lease_move_record(cpi_leased_of(cache)->lease->common, cache);
    cpi_lease_unlink(cache);
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
    cpi_leased_of(cache)->lease = lease;
    cpi_leased_of(cache)->filled = 0;
    cpi_leased_of(cache)->length = 0;
    cpi_store(&cpi_leased_of(cache)->pending, false, relaxed); /* [open] */
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
                struct cpi_cache *first = cpi_lease_first(lease);

                cpi_store(&cpi_leased_of(cache)->next, first, relaxed); /* [listed] */
                cpi_store(&lease->caches, cache, relaxed); /* [listed] */
            }
        }
        cpi_unlock();
    }
    if (cache == NULL && open)
        cpi_thread_refused();
    return cache;
}

/* --- Begin --- */

bool cpi_lease_open(struct cpi_lease *lease, struct cpi_registry *registry,
                    struct cpi_leased *leased, cpool_t *handle)
{
    lease->registry = registry;
    lease->leased = leased;
    cpi_store(&lease->caches, NULL, relaxed); /* [listed] */
    lease->handle = handle;
    lease->common = add_cache(lease, NULL);
    if (lease->common == NULL) {
        cpi_lease_forget(lease);
        return false;
    }
    cpi_handle_set_lease(handle, (uintptr_t)lease);
    return true;
}
