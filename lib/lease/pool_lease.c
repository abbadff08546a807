/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_lease.c - beginning a lease, and obtaining slots under it.
 *
 * ORDERING TABLE
 *   leased | word of the bitmap, load and CAS | relaxed | - | -
 *   made   | leases store                     | release | pool_lease.h's see | the leases, unused
 *   wrap   | gate store                       | release | pool_impl.h's gate | likewise
 */
#include "pool/feature.h"
#include "pool/pool_alloc.h"
#include "pool/pool_info.h"

#include "base/atomic.h"
#include "base/error.h"
#include "lease/lease_layer.h"
#include "lease/pool_lease.h"
#include "track/track.h"

/* --- Handles --- */

CPI_COLD void cpi_lease_report(const char *function, const cpool_lease_t *handle)
{
    cpool_error_t error = {
        .code = CPOOL_ELEASE, .function = function, .name = "", .address = handle};

    cpi_report(&error, "%s: %s (lease %p)", function, cpool_strerror(CPOOL_ELEASE),
               (const void *)handle);
}

struct cpi_lease *cpi_lease_of(cpool_lease_t *handle, const char *function)
{
    cpool_t *descriptor = (cpool_t *)(void *)handle;
    uintptr_t lease = cpi_handle_is_one(descriptor) ? cpi_handle_lease(descriptor) : 0;

    if (CPI_UNLIKELY(lease == 0))
        cpi_lease_report(function, handle);
    return (struct cpi_lease *)lease;
}

/* --- Which slots are leased, in pools with a state for each slot --- */

/* The gate of a pool that has had a lease. */
static bool given(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    uintptr_t index = cpi_slab_index(&pool->slab, slot);

    if (CPI_LIKELY(!cpi_lease_has_slot(pool, index)))
        return cpi_leases_of(pool)->passed->given(pool, slot, call);
    cpi_pool_report_slot(CPOOL_ELEASED, call.function, pool, index);
    return false;
}

static int retired(struct cpi_pool *pool, uintptr_t index, bool back)
{
    const struct cpi_gate *passed = cpi_leases_of(pool)->passed;

    if (CPI_UNLIKELY(cpi_lease_has_slot(pool, index)))
        return CPOOL_ELEASED;
    return passed->retired != NULL ? passed->retired(pool, index, back) : 0;
}

bool cpi_lease_set_slot(struct cpi_pool *pool, const void *slot, bool leased)
{
    _Atomic uint64_t *word;
    uint64_t old;
    uint64_t bit;

    if (cpi_leases_of(pool)->passed == NULL)
        return true;
    word = cpi_lease_word(pool, cpi_slab_index(&pool->slab, slot), &bit);
    old = cpi_load(word, relaxed); /* [leased] */
    do {
        if (((old & bit) != 0) == leased)
            return false;
    } while (!cpi_cas_weak(word, &old, old ^ bit, relaxed, relaxed)); /* [leased] */
    return true;
}

/* --- Beginning --- */

/* With the lock held, as the two that follow. */
static struct cpi_leases *make_leases(struct cpi_pool *pool)
{
    const struct cpi_gate *passed = cpi_pool_gate(pool);
    size_t words = passed != NULL ? pool->slab.slots / CPI_LEASED_BITS + 1 : 0;
    size_t caches_at = sizeof(struct cpi_leases) + words * sizeof(uint64_t);
    size_t size = caches_at + pool->registry.max * sizeof(struct cpi_leased);
    struct cpi_leases *leases = cpi_os_map(size);

    cpi_pool_note_calls(pool, 1);
    if (leases == NULL)
        return NULL;
    leases->size = size;
    leases->caches = (struct cpi_leased *)(void *)((char *)leases + caches_at);
    leases->passed = passed;
    cpi_store(&cpi_lease_part(pool->part)->leases, leases, release); /* [made] */
    if (passed != NULL) {
        leases->gate = *passed;
        leases->gate.given = given;
        leases->gate.retired = retired;
        cpi_store(&pool->gate, &leases->gate, release); /* [wrap] */
    }
    return leases;
}

static struct cpi_lease *find_unused(struct cpi_pool *pool)
{
    struct cpi_leases *leases = cpi_leases_of(pool);
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

    if (handle == NULL ||
        !cpi_lease_open(lease, &pool->registry, cpi_leases_of(pool)->caches, handle))
        return NULL;
    return (cpool_lease_t *)(void *)handle;
}

cpool_lease_t *cpool_lease_begin(cpool_t *handle)
{
    struct cpi_pool *pool = cpi_pool_of(handle, "cpool_lease_begin");
    cpool_lease_t *lease = NULL;

    if (pool != NULL) {
        cpi_lock();
        lease = begin(pool);
        cpi_unlock();
    }
    return lease;
}

/* --- Allocating --- */

/* The calling thread's cache, which joins the lease if it has to, or NULL. */
static inline struct cpi_cache *own_cache(struct cpi_lease *lease, const cpool_lease_t *handle)
{
    struct cpi_cache *cache = cpi_lease_home(handle);

    return CPI_LIKELY(cache != NULL) ? cache
                                     : cpi_lease_join(lease, (const cpool_t *)(const void *)handle);
}

/* Whether the slot is the caller's.  In pools with a gate it may turn out to be live, because it
 * was freed twice.  It is leased after it is live, so that the end tells a slot with an alloc
 * that vanished in between, in a fork, from one that was freed twice. */
static inline bool mark(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    if (!cpi_pool_passes(pool, slot, call))
        return false;
    (void)cpi_lease_set_slot(pool, slot, true);
    return true;
}

/* A slot from the calling thread's cache, or NULL.  One that turns out to be live is not
 * recorded. */
static void *alloc_from(struct cpi_cache *cache, const struct cpi_lease *lease,
                        const cpool_lease_t *handle, struct cpi_call call)
{
    struct cpi_pool *pool = cpi_lease_pool(lease);
    bool marked;
    bool was;
    void *slot;

    cpi_pool_sample(pool, cache);
    while (cpi_lease_enter(lease, handle, cache)) {
        slot = cpi_lease_alloc(cache);
        was = cpi_lease_begin_mark(cache);
        cpi_mark_leave(cache);
        marked = slot == NULL || mark(pool, slot, call);
        /* No report's handler has ended the lease. */
        if (CPI_LIKELY(cpi_lease_home(handle) == cache))
            cpi_lease_end_mark(cache, was);
        if (marked)
            return slot;
        if (!cpi_lease_enter(lease, handle, cache))
            break;
        cpi_lease_undo(cache, slot);
        cpi_mark_leave(cache);
    }
    return NULL;
}

/* Records a live slot in a cache of the calling thread, or in the common one.  Returns false if
 * the lease has ended meanwhile. */
static bool record(struct cpi_lease *lease, const cpool_lease_t *handle, struct cpi_cache *cache,
                   void *slot)
{
    bool done = false;

    if (cache == NULL) {
        cpi_lock();
        done = cpi_lease_is_open(lease, (const cpool_t *)(const void *)handle) &&
               cpi_lease_record_commonly(lease, slot);
        cpi_unlock();
    } else if (cpi_lease_enter(lease, handle, cache)) {
        done = cpi_lease_record(cache, slot);
        cpi_mark_leave(cache);
        cpi_pool_came(cpi_lease_pool(lease), NULL); /* others may have looked past it meanwhile */
    }
    return done;
}

/* The pool is dry, or the thread can have no cache. */
CPI_COLD static void *alloc_elsewhere(struct cpi_lease *lease, const cpool_lease_t *handle,
                                      struct cpi_cache *cache, struct cpi_call call)
{
    struct cpi_pool *pool = cpi_lease_pool(lease);
    struct cpi_cache *known = cpi_registry_known_cache(&pool->registry);
    void *slot = cpi_pool_alloc_slot(pool, known, call);

    if (slot == NULL)
        return NULL;
    (void)cpi_lease_set_slot(pool, slot, true);
    if (record(lease, handle, cache, slot))
        return slot;
    (void)cpi_lease_set_slot(pool, slot, false);
    cpi_pool_free(pool, known, slot, call);
    cpi_lease_report(call.function, handle);
    return NULL;
}

/* From the cache, which is that of the calling thread or NULL, or from the depot. */
static void *alloc_near(struct cpi_cache *cache, const struct cpi_lease *lease,
                        const cpool_lease_t *handle, struct cpi_call call)
{
    void *slot = NULL;

    if (CPI_LIKELY(cache != NULL))
        slot = alloc_from(cache, lease, handle, call);
    cpi_pool_moved(cpi_lease_pool(lease), cache, slot);
    return slot;
}

void *cpi_lease_near(cpool_lease_t *handle)
{
    const struct cpi_call call = CPI_CALL("cpi_lease_near");
    struct cpi_lease *lease = cpi_lease_of(handle, call.function);

    return lease != NULL ? alloc_near(own_cache(lease, handle), lease, handle, call) : NULL;
}

void *cpool_lease_alloc_abi3(cpool_lease_t *handle)
{
    const struct cpi_call call = CPI_CALL("cpool_lease_alloc");
    struct cpi_lease *lease = cpi_lease_of(handle, call.function);
    struct cpi_cache *cache;
    void *slot;

    if (lease == NULL)
        return NULL;
    cache = own_cache(lease, handle);
    slot = alloc_near(cache, lease, handle, call);
    return CPI_LIKELY(slot != NULL) ? slot : alloc_elsewhere(lease, handle, cache, call);
}

/* --- Adopting --- */

bool cpi_lease_is_free(const struct cpi_pool *pool, uintptr_t index)
{
    return cpi_track_map(pool) != NULL &&
           cpi_slotmap_state(cpi_track_map(pool), index) != CPI_SLOTMAP_LIVE_ONE;
}

/* In pools with a gate: the slot is the lease's.  It is so before it is looked at, so that a
 * free that comes later is refused.  Returns 0, or a code that was reported. */
static int claim(struct cpi_pool *pool, uintptr_t index, const char *function)
{
    const void *slot = cpi_slab_slot(&pool->slab, index);
    int code = 0;

    if (!cpi_lease_set_slot(pool, slot, true)) {
        code = CPOOL_ELEASED;
    } else if (cpi_lease_is_free(pool, index)) {
        (void)cpi_lease_set_slot(pool, slot, false);
        code = cpi_slotmap_state(cpi_track_map(pool), index) == CPI_SLOTMAP_NEVER_TAKEN
                   ? CPOOL_EUNUSED
                   : CPOOL_EDOUBLEFREE;
    }
    if (code != 0)
        cpi_pool_report_slot(code, function, pool, index);
    return code;
}

int cpool_lease_adopt(cpool_lease_t *handle, void *slot)
{
    static const char function[] = "cpool_lease_adopt";
    struct cpi_lease *lease = cpi_lease_of(handle, function);
    struct cpi_pool *pool;
    uintptr_t index;
    int code;

    if (lease == NULL)
        return CPOOL_ELEASE;
    if (slot == NULL)
        return 0;
    pool = cpi_lease_pool(lease);
    code = cpi_pool_judge(pool, slot, function, &index);
    if (code == 0)
        code = claim(pool, index, function);
    if (code != 0)
        return code;
    slot = cpi_slab_slot(&pool->slab, index);
    if (record(lease, handle, own_cache(lease, handle), slot))
        return 0;
    (void)cpi_lease_set_slot(pool, slot, false);
    cpi_lease_report(function, handle);
    return CPOOL_ELEASE;
}
