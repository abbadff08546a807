/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_lease.c - the public functions of leases.
 *
 * Floor 6.
 *
 * ORDERING TABLE
 *   leased | word of the bitmap, load and CAS | relaxed | - | -
 *   made   | leases store                     | release | see  | the leases, all unused
 *   see    | leases load                      | acquire | made | the leases, all unused
 *   alone  | leases store, while no thread uses the pool | relaxed | - | -
 *
 * A bit of the bitmap changes hands along with its slot, which orders it.
 */
#include "pool_impl.h"

#include <string.h>

#include <cpool/lease.h>

#include "atomic.h"
#include "error.h"
#include "lease.h"
#include "os.h"
#include "quiet.h"
#include "recall.h"

#define CPI_LEASED_BITS 64u

/* --- Handles --- */

CPI_COLD static void report_handle(const char *function, const cpool_lease_t *handle)
{
    cpool_error_t error;

    memset(&error, 0, sizeof error);
    error.code = CPOOL_ELEASE;
    error.function = function;
    error.name = "";
    error.address = handle;
    cpi_report(&error, "%s: %s (lease %p)", function, cpool_strerror(CPOOL_ELEASE),
               (const void *)handle);
}

/* The lease, or NULL after it was reported that there is none. */
static inline struct cpi_lease *lease_of(cpool_lease_t *handle, const char *function)
{
    cpool_t *descriptor = (cpool_t *)(void *)handle;

    if (CPI_LIKELY(cpi_handle_is_one(descriptor) && *cpi_handle_lease(descriptor) != 0))
        return (struct cpi_lease *)*cpi_handle_lease(descriptor);
    report_handle(function, handle);
    return NULL;
}

static inline struct cpi_pool *pool_of(const struct cpi_lease *lease)
{
    return lease->registry->pool;
}

/* --- Which slots are leased, in pools with a state for each slot --- */

static struct cpi_leases *leases_of(const struct cpi_pool *pool)
{
    return cpi_load(&pool->leases, acquire); /* [see] */
}

static _Atomic uint64_t *word_of(const struct cpi_pool *pool, uintptr_t index, uint64_t *bit)
{
    *bit = (uint64_t)1 << index % CPI_LEASED_BITS;
    return &leases_of(pool)->leased[index / CPI_LEASED_BITS];
}

bool cpi_pool_is_leased(const struct cpi_pool *pool, uintptr_t index)
{
    uint64_t bit;

    if (CPI_LIKELY(leases_of(pool) == NULL))
        return false;
    return (cpi_load(word_of(pool, index, &bit), relaxed) & bit) != 0; /* [leased] */
}

/* In pools with marks: the slot is a lease's from now on, or of none. */
static void set_leased(struct cpi_pool *pool, const void *slot, bool leased)
{
    _Atomic uint64_t *word;
    uint64_t old;
    uint64_t bit;

    if (!pool->marks)
        return;
    word = word_of(pool, cpi_slab_index(&pool->slab, slot), &bit);
    old = cpi_load(word, relaxed); /* [leased] */
    while (!cpi_cas_weak(word, &old, leased ? old | bit : old & ~bit, /* [leased] */
                         relaxed, relaxed))                           /* [leased] */
        continue;
}

/* --- Beginning --- */

/* With the lock held, as the two that follow. */
static struct cpi_leases *make_leases(struct cpi_pool *pool)
{
    size_t words = pool->marks ? pool->slab.slots / CPI_LEASED_BITS + 1 : 0;
    struct cpi_leases *leases = cpi_os_map(sizeof *leases + words * sizeof(uint64_t));

    if (leases == NULL)
        return NULL;
    leases->size = sizeof *leases + words * sizeof(uint64_t);
    cpi_store(&pool->leases, leases, release); /* [made] */
    return leases;
}

static struct cpi_lease *find_unused(struct cpi_pool *pool)
{
    struct cpi_leases *leases = leases_of(pool);
    unsigned i;

    if (leases == NULL)
        leases = make_leases(pool);
    for (i = 0; leases != NULL && i < CPOOL_LEASES_MAX; i++)
        if (leases->lease[i].handle == NULL)
            return &leases->lease[i];
    return NULL;
}

static cpool_lease_t *begin(struct cpi_pool *pool)
{
    struct cpi_lease *lease = find_unused(pool);
    cpool_t *handle = lease != NULL ? cpi_handle_take(CPI_HANDLE_LEASE) : NULL;

    if (handle == NULL || !cpi_lease_open(lease, &pool->registry, handle))
        return NULL;
    return (cpool_lease_t *)(void *)handle;
}

cpool_lease_t *cpool_lease_begin(cpool_t *handle)
{
    static const char function[] = "cpool_lease_begin";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    cpool_lease_t *lease;

    if (pool == NULL)
        return NULL;
    cpi_lock();
    lease = begin(pool);
    cpi_unlock();
    cpi_quiet_report(function);
    return lease;
}

/* --- Allocating --- */

/* The calling thread's cache of a lease, or NULL. */
static inline struct cpi_cache *own_cache(struct cpi_lease *lease, const cpool_lease_t *handle)
{
    const cpool_t *descriptor = (const cpool_t *)(const void *)handle;
    struct cpi_cache *cache = cpi_thread_entry(descriptor)->home;

    return CPI_LIKELY(cache != NULL) ? cache : cpi_lease_join(lease, descriptor);
}

/* Goes inside a cache of the calling thread, after a thread that steals from it has left.
 * Returns false if the lease has ended meanwhile.  The end clears the thread's entry, and
 * another lease may have the structures of both by now. */
static inline bool enter(const struct cpi_lease *lease, const cpool_lease_t *handle,
                         struct cpi_cache *cache)
{
    const cpool_t *descriptor = (const cpool_t *)(const void *)handle;
    unsigned times = 0;

    while (!cpi_recall_enter(cache)) {
        if (cpi_thread_entry(descriptor)->home != cache)
            return false;
        cpi_os_back_off(times++);
    }
    if (CPI_LIKELY(cpi_thread_entry(descriptor)->home == cache && cache->leased.lease == lease))
        return true;
    cpi_recall_leave(cache);
    return false;
}

/* In pools with marks a slot may turn out to be live, because it was freed twice.  It is
 * dropped then. */
static void *take(struct cpi_pool *pool, const struct cpi_lease *lease,
                  const cpool_lease_t *handle, struct cpi_cache *cache, const char *function,
                  const void *site)
{
    void *slot;

    cpi_pool_sample(pool, cache);
    while (enter(lease, handle, cache)) {
        slot = cpi_lease_take(cache);
        if (slot != NULL)
            set_leased(pool, slot, true);
        cpi_recall_leave(cache);
        if (slot == NULL || !pool->marks || cpi_pool_mark_taken(pool, slot, function, site))
            return slot;
        if (!enter(lease, handle, cache))
            break;
        cpi_lease_drop(cache);
        set_leased(pool, slot, false);
        cpi_recall_leave(cache);
    }
    return NULL;
}

/* The slot becomes the lease's, through a cache of the calling thread or the common one.
 * Returns false if the lease has ended meanwhile. */
static bool adopt(struct cpi_lease *lease, const cpool_lease_t *handle, struct cpi_cache *cache,
                  void *slot)
{
    bool done = false;

    if (cache == NULL) {
        cpi_lock();
        done = cpi_lease_is_open(lease, (const cpool_t *)(const void *)handle) &&
               cpi_lease_adopt_commonly(lease, slot);
        if (done)
            set_leased(pool_of(lease), slot, true);
        cpi_unlock();
    } else if (enter(lease, handle, cache)) {
        done = cpi_lease_adopt(cache, slot);
        if (done)
            set_leased(pool_of(lease), slot, true);
        cpi_recall_leave(cache);
        cpi_pool_wake_waiters(pool_of(lease)); /* others may have looked past it meanwhile */
    }
    return done;
}

/* The pool is dry, or the thread can have no cache. */
CPI_COLD static void *take_elsewhere(struct cpi_lease *lease, const cpool_lease_t *handle,
                                     struct cpi_cache *cache, const char *function,
                                     const void *site)
{
    struct cpi_pool *pool = pool_of(lease);
    struct cpi_cache *known = cpi_registry_known_cache(&pool->registry);
    void *slot = cpi_pool_alloc(pool, known, function, site);

    if (slot == NULL || adopt(lease, handle, cache, slot))
        return slot;
    cpi_pool_free(pool, known, slot, function, site);
    report_handle(function, handle);
    return NULL;
}

void *cpool_lease_alloc_slow(cpool_lease_t *handle)
{
    static const char function[] = "cpool_lease_alloc";
    struct cpi_lease *lease = lease_of(handle, function);
    struct cpi_cache *cache;
    struct cpi_pool *pool;
    void *slot = NULL;

    if (lease == NULL)
        return NULL;
    pool = pool_of(lease);
    cache = own_cache(lease, handle);
    if (CPI_LIKELY(cache != NULL))
        slot = take(pool, lease, handle, cache, function, CPI_CALLER());
    if (CPI_UNLIKELY(pool->waitable))
        cpi_pool_call_waiter(pool, cache);
    if (CPI_UNLIKELY(slot == NULL))
        slot = take_elsewhere(lease, handle, cache, function, CPI_CALLER());
    cpi_quiet_report(function);
    return slot;
}

/* --- Slots that join, and slots that leave --- */

/* 0 and the lease, or a code that was reported.  In pools with marks the slot has to be a
 * lease's, or of none. */
static int check_arguments(struct cpi_lease **lease, cpool_lease_t *handle, const void *slot,
                           bool leased, const char *function)
{
    int code = leased ? CPOOL_ELEASE : CPOOL_ELEASED;
    struct cpi_pool *pool;

    *lease = lease_of(handle, function);
    if (*lease == NULL)
        return CPOOL_ELEASE;
    pool = pool_of(*lease);
    if (slot == NULL)
        return 0;
    if (!cpi_pool_validate(pool, slot, function))
        return CPOOL_EFOREIGN;
    if (!pool->marks || cpi_pool_is_leased(pool, cpi_slab_index(&pool->slab, slot)) == leased)
        return 0;
    cpi_pool_report_slot(code, function, pool, cpi_slab_index(&pool->slab, slot));
    return code;
}

int cpool_lease_adopt(cpool_lease_t *handle, void *slot)
{
    static const char function[] = "cpool_lease_adopt";
    struct cpi_lease *lease;
    int code = check_arguments(&lease, handle, slot, false, function);

    if (code != 0 || slot == NULL)
        return code;
    if (!adopt(lease, handle, own_cache(lease, handle), slot)) {
        report_handle(function, handle);
        return CPOOL_ELEASE;
    }
    return 0;
}

/* Notes that `other` takes the place of a slot at the end. */
static int replace_later(struct cpi_lease *lease, const cpool_lease_t *handle, const void *slot,
                         void *other)
{
    int code = CPOOL_ELEASE;

    cpi_lock();
    if (cpi_lease_is_open(lease, (const cpool_t *)(const void *)handle))
        code = cpi_swaps_add(&lease->swaps, slot, other) ? 0 : CPOOL_ENOMEM;
    cpi_unlock();
    return code;
}

static int replace(struct cpi_lease *lease, const cpool_lease_t *handle, const void *slot,
                   void *other)
{
    struct cpi_cache *cache = cpi_thread_entry((const cpool_t *)(const void *)handle)->home;
    bool done = false;

    if (cache != NULL && enter(lease, handle, cache)) {
        done = cpi_lease_replace(cache, slot, other);
        cpi_recall_leave(cache);
        cpi_pool_wake_waiters(pool_of(lease)); /* as in adopt */
    }
    return done ? 0 : replace_later(lease, handle, slot, other);
}

int cpool_lease_promote(cpool_lease_t *handle, void *slot)
{
    static const char function[] = "cpool_lease_promote";
    struct cpi_cache *known;
    struct cpi_lease *lease;
    struct cpi_pool *pool;
    void *other;
    int code = check_arguments(&lease, handle, slot, true, function);

    if (code != 0 || slot == NULL)
        return code;
    pool = pool_of(lease);
    known = cpi_registry_known_cache(&pool->registry);
    other = cpi_pool_alloc(pool, known, function, CPI_CALLER());
    if (other == NULL)
        return CPOOL_EDRY;
    code = replace(lease, handle, slot, other);
    if (code == CPOOL_ELEASE)
        report_handle(function, handle);
    if (code != 0) {
        cpi_pool_free(pool, known, other, function, CPI_CALLER());
    } else {
        set_leased(pool, slot, false);
        set_leased(pool, other, true);
    }
    return code;
}

/* --- All slots of a lease --- */

struct visitor {
    void (*visit)(void *slot, void *arg);
    void *arg;
    size_t visited;
};

static void visit_slot(void *context, void **place)
{
    struct visitor *visitor = context;

    visitor->visit(*place, visitor->arg);
    visitor->visited++;
}

/* Collects all slots of the lease in its common cache.  `closes`: the handle leads to it
 * no longer. */
static bool gather(struct cpi_lease *lease, cpool_t *descriptor, bool closes)
{
    bool at_rest;

    cpi_lock();
    if (closes)
        *cpi_handle_lease(descriptor) = 0;
    cpi_registry_await_leaving(lease->registry);
    at_rest = cpi_lease_gather(lease, !closes);
    cpi_unlock();
    return at_rest;
}

size_t cpool_lease_each(cpool_lease_t *handle, void (*visit)(void *slot, void *arg), void *arg)
{
    static const char function[] = "cpool_lease_each";
    struct cpi_lease *lease = lease_of(handle, function);
    struct visitor visitor = {visit, arg, 0};

    if (lease == NULL)
        return 0;
    if (!gather(lease, (cpool_t *)(void *)handle, false))
        report_handle(function, handle);
    cpi_pool_wake_waiters(pool_of(lease)); /* free slots of the lease went to the depot */
    cpi_lease_walk(lease->common, visit_slot, &visitor);
    cpi_quiet_report(function);
    return visitor.visited;
}

/* --- The end --- */

static const char end_function[] = "cpool_lease_end";

struct ending {
    struct cpi_pool *pool;
    struct cpi_swaps *swaps;
    const void *site;
};

/* A slot that was promoted makes way for the one that was taken in its place. */
static void swap_slot(void *context, void **place)
{
    struct ending *ending = context;
    void *other = cpi_swaps_take(ending->swaps, *place);

    if (other != NULL)
        *place = other;
}

/* Damage is repaired when it is reported, so that the second attempt succeeds.  The slot is
 * the lease's until it is not live any more, so that no other free can end its life. */
static void give_slot(void *context, void **place)
{
    struct ending *ending = context;

    if (!cpi_pool_mark_ended(ending->pool, *place, end_function, ending->site))
        cpi_pool_mark_ended(ending->pool, *place, end_function, ending->site);
    set_leased(ending->pool, *place, false);
}

/* Slots that were promoted, and were none of the lease's. */
static void report_strays(struct cpi_pool *pool, const struct cpi_swaps *swaps)
{
    size_t i;

    for (i = 0; i < swaps->room; i++) {
        const struct cpi_swap *swap = &swaps->entries[i];

        if (swap->slot == NULL || swap->other == NULL)
            continue;
        cpi_pool_report_slot(CPOOL_ELEASE, end_function, pool,
                             cpi_slab_index(&pool->slab, swap->slot));
        set_leased(pool, swap->other, false);
        cpi_pool_free(pool, cpi_registry_known_cache(&pool->registry), swap->other, end_function,
                      NULL);
    }
}

size_t cpool_lease_end(cpool_lease_t *handle)
{
    struct cpi_lease *lease = lease_of(handle, end_function);
    struct ending ending;
    size_t slots;

    if (lease == NULL)
        return 0;
    ending.pool = pool_of(lease);
    ending.swaps = &lease->swaps;
    ending.site = CPI_CALLER();
    if (!gather(lease, (cpool_t *)(void *)handle, true))
        report_handle(end_function, handle);
    if (lease->swaps.used > 0)
        cpi_lease_walk(lease->common, swap_slot, &ending);
    report_strays(ending.pool, &lease->swaps);
    if (ending.pool->marks)
        cpi_lease_walk(lease->common, give_slot, &ending);
    cpi_lock();
    slots = cpi_lease_give(lease->common);
    cpi_registry_end_leased(lease->registry, lease->common);
    cpi_lease_forget(lease);
    cpi_unlock();
    cpi_pool_wake_waiters(ending.pool);
    cpi_quiet_report(end_function);
    return slots;
}

void cpi_pool_end_leases(struct cpi_pool *pool)
{
    struct cpi_leases *leases = leases_of(pool);
    unsigned i;

    if (leases == NULL)
        return;
    for (i = 0; i < CPOOL_LEASES_MAX; i++)
        if (leases->lease[i].handle != NULL)
            cpi_lease_forget(&leases->lease[i]);
    cpi_os_release(leases, leases->size);
    cpi_store(&pool->leases, NULL, relaxed); /* [alone] */
}
