/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_lease.c - beginning a lease, and slots that join it or leave it.
 *
 * Floor 6.
 *
 * ORDERING TABLE
 *   leased | word of the bitmap, load and CAS | relaxed | - | -
 *   made   | leases store                     | release | see  | the leases, all unused
 *   see    | leases load                      | acquire | made | the leases, all unused
 *   home   | entry home load                  | relaxed | - | -
 *
 * A bit of the bitmap changes hands along with its slot, which orders it.
 */
#include "pool_lease.h"

#include <string.h>

#include "atomic.h"
#include "error.h"
#include "os.h"
#include "quiet.h"
#include "recall.h"

#define CPI_LEASED_BITS 64u

/* --- Handles --- */

void cpi_pool_report_lease(const char *function, const cpool_lease_t *handle)
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

static inline struct cpi_pool *pool_of(const struct cpi_lease *lease)
{
    return lease->registry->pool;
}

/* --- Which slots are leased, in pools with a state for each slot --- */

struct cpi_leases *cpi_pool_leases(const struct cpi_pool *pool)
{
    return cpi_load(&pool->leases, acquire); /* [see] */
}

static _Atomic uint64_t *word_of(const struct cpi_pool *pool, uintptr_t index, uint64_t *bit)
{
    *bit = (uint64_t)1 << index % CPI_LEASED_BITS;
    return &cpi_pool_leases(pool)->leased[index / CPI_LEASED_BITS];
}

bool cpi_pool_is_leased(const struct cpi_pool *pool, uintptr_t index)
{
    uint64_t bit;

    if (CPI_LIKELY(cpi_pool_leases(pool) == NULL))
        return false;
    return (cpi_load(word_of(pool, index, &bit), relaxed) & bit) != 0; /* [leased] */
}

bool cpi_pool_set_leased(struct cpi_pool *pool, const void *slot, bool leased)
{
    _Atomic uint64_t *word;
    uint64_t old;
    uint64_t bit;

    if (!pool->marks)
        return true;
    word = word_of(pool, cpi_slab_index(&pool->slab, slot), &bit);
    old = cpi_load(word, relaxed); /* [leased] */
    do {
        if (((old & bit) != 0) == leased)
            return false;
    } while (cpi_chaos_step(pool->depot.chaos) ||
             !cpi_cas_weak(word, &old, old ^ bit, relaxed, relaxed)); /* [leased] */
    return true;
}

/* Leases know the pool's slots.  Callers have blocks instead in fake pools. */
static void *own_slot(const struct cpi_pool *pool, const void *shown)
{
    return cpi_slab_slot(&pool->slab, cpi_pool_index(pool, shown));
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
    struct cpi_leases *leases = cpi_pool_leases(pool);
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

/* The calling thread's cache of a lease, as its entry has it.  An end in another thread
 * clears the entry. */
static inline struct cpi_cache *home_of(const cpool_lease_t *handle)
{
    cpool_cache_t *entry = cpi_thread_entry((const cpool_t *)(const void *)handle);
    uintptr_t *home = (uintptr_t *)(void *)&entry->home;

    return (struct cpi_cache *)cpi_word_load(home, relaxed); /* [home] */
}

/* The same, which joins the lease if it has to, or NULL. */
static inline struct cpi_cache *own_cache(struct cpi_lease *lease, const cpool_lease_t *handle)
{
    struct cpi_cache *cache = home_of(handle);

    return CPI_LIKELY(cache != NULL)
               ? cache
               : cpi_lease_join(lease, (const cpool_t *)(const void *)handle);
}

/* Goes inside a cache of the calling thread, after a thread that steals from it has left.
 * Returns false if the lease has ended meanwhile.  The end clears the thread's entry, and
 * another lease may have the structures of both by now. */
static inline bool enter(const struct cpi_lease *lease, const cpool_lease_t *handle,
                         struct cpi_cache *cache)
{
    unsigned times = 0;

    while (!cpi_recall_enter(cache)) {
        if (home_of(handle) != cache)
            return false;
        cpi_os_back_off(times++);
    }
    if (CPI_LIKELY(home_of(handle) == cache && cache->leased.lease == lease))
        return true;
    cpi_recall_leave(cache);
    return false;
}

/* Whether the slot is the caller's.  In pools with marks it may turn out to be live, because it
 * was freed twice.  It is leased after it is live, so that the end tells a slot with an alloc
 * that vanished in between, in a fork, from one that was freed twice. */
static inline bool mark(struct cpi_pool *pool, void *slot, const char *function, const void *site)
{
    if (!pool->marks)
        return true;
    if (!cpi_pool_mark_taken(pool, &slot, function, site))
        return false;
    (void)cpi_pool_set_leased(pool, slot, true);
    return true;
}

/* A slot that turns out to be live is dropped. */
static void *take(struct cpi_pool *pool, const struct cpi_lease *lease,
                  const cpool_lease_t *handle, struct cpi_cache *cache, const char *function,
                  const void *site)
{
    void *slot;

    cpi_pool_sample(pool, cache);
    while (enter(lease, handle, cache)) {
        slot = cpi_lease_take(cache);
        cpi_recall_leave(cache);
        if (slot == NULL || mark(pool, slot, function, site))
            return slot;
        if (!enter(lease, handle, cache))
            break;
        cpi_lease_drop(cache);
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
        cpi_unlock();
    } else if (enter(lease, handle, cache)) {
        done = cpi_lease_adopt(cache, slot);
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
    void *own;

    if (slot == NULL)
        return NULL;
    own = own_slot(pool, slot);
    (void)cpi_pool_set_leased(pool, own, true);
    (void)cpi_chaos_step(pool->depot.chaos);
    if (adopt(lease, handle, cache, own))
        return slot;
    (void)cpi_pool_set_leased(pool, own, false);
    cpi_pool_free(pool, known, slot, function, site);
    cpi_pool_report_lease(function, handle);
    return NULL;
}

void *cpool_lease_alloc_slow(cpool_lease_t *handle)
{
    static const char function[] = "cpool_lease_alloc";
    struct cpi_lease *lease = cpi_pool_lease_of(handle, function);
    struct cpi_cache *cache;
    struct cpi_pool *pool;
    void *slot = NULL;

    if (lease == NULL)
        return NULL;
    pool = pool_of(lease);
    cache = own_cache(lease, handle);
    if (CPI_LIKELY(cache != NULL && pool->fake == NULL))
        slot = take(pool, lease, handle, cache, function, CPI_CALLER());
    if (CPI_UNLIKELY(pool->waitable))
        cpi_pool_call_after_alloc(pool, cache, slot);
    if (CPI_UNLIKELY(slot == NULL))
        slot = take_elsewhere(lease, handle, cache, function, CPI_CALLER());
    cpi_quiet_report(function);
    return slot;
}

/* --- Slots that join, and slots that leave --- */

/* 0 and the lease with the pool's own slot, or a code that was reported. */
static int check_arguments(struct cpi_lease **lease, cpool_lease_t *handle, void **slot,
                           const char *function)
{
    uintptr_t index;

    *lease = cpi_pool_lease_of(handle, function);
    if (*lease == NULL)
        return CPOOL_ELEASE;
    if (*slot == NULL)
        return 0;
    if (cpi_pool_judge(pool_of(*lease), *slot, function, &index) != 0)
        return CPOOL_EFOREIGN;
    *slot = cpi_slab_slot(&pool_of(*lease)->slab, index);
    return 0;
}

/* In pools with marks a slot that joins has to be of no lease, and one that leaves has to be
 * of a lease.  0, or a code that was reported. */
static int claim(struct cpi_pool *pool, const void *slot, bool joins, const char *function)
{
    int code = joins ? CPOOL_ELEASED : CPOOL_ELEASE;

    if (cpi_pool_set_leased(pool, slot, joins))
        return 0;
    cpi_pool_report_slot(code, function, pool, cpi_slab_index(&pool->slab, slot));
    return code;
}

int cpool_lease_adopt(cpool_lease_t *handle, void *slot)
{
    static const char function[] = "cpool_lease_adopt";
    struct cpi_lease *lease;
    int code = check_arguments(&lease, handle, &slot, function);

    if (code == 0 && slot != NULL)
        code = claim(pool_of(lease), slot, true, function);
    if (code != 0 || slot == NULL || adopt(lease, handle, own_cache(lease, handle), slot))
        return code;
    (void)cpi_pool_set_leased(pool_of(lease), slot, false);
    cpi_pool_report_lease(function, handle);
    return CPOOL_ELEASE;
}

/* Whether the calling thread has obtained the slot lately.  It is the lease's no longer. */
static bool leave_now(struct cpi_lease *lease, const cpool_lease_t *handle, const void *slot)
{
    struct cpi_cache *cache = home_of(handle);
    bool done = false;

    if (cache != NULL && enter(lease, handle, cache)) {
        done = cpi_lease_let_go(cache, slot);
        cpi_recall_leave(cache);
        cpi_pool_wake_waiters(pool_of(lease)); /* as in adopt */
    }
    return done;
}

/* Notes that another slot takes the place of this one at the end. */
static int leave_later(struct cpi_lease *lease, const cpool_lease_t *handle, const void *slot,
                       const char *function, const void *site)
{
    struct cpi_pool *pool = pool_of(lease);
    struct cpi_cache *known = cpi_registry_known_cache(&pool->registry);
    void *shown = cpi_pool_alloc(pool, known, function, site);
    int code = CPOOL_ELEASE;
    void *other;

    if (shown == NULL)
        return CPOOL_EDRY;
    other = own_slot(pool, shown);
    (void)cpi_pool_set_leased(pool, other, true);
    cpi_lock();
    if (cpi_lease_is_open(lease, (const cpool_t *)(const void *)handle))
        code = cpi_swaps_add(&lease->swaps, slot, other) ? 0 : CPOOL_ENOMEM;
    cpi_unlock();
    if (code == 0)
        return 0;
    (void)cpi_pool_set_leased(pool, other, false);
    cpi_pool_free(pool, known, shown, function, site);
    if (code == CPOOL_ELEASE)
        cpi_pool_report_lease(function, handle);
    return code;
}

int cpool_lease_promote(cpool_lease_t *handle, void *slot)
{
    static const char function[] = "cpool_lease_promote";
    struct cpi_lease *lease;
    int code = check_arguments(&lease, handle, &slot, function);

    if (code == 0 && slot != NULL)
        code = claim(pool_of(lease), slot, false, function);
    if (code != 0 || slot == NULL || leave_now(lease, handle, slot))
        return code;
    code = leave_later(lease, handle, slot, function, CPI_CALLER());
    if (code != 0)
        (void)cpi_pool_set_leased(pool_of(lease), slot, true);
    return code;
}
