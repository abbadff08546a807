/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_lease.c - the public functions of leases.
 *
 * The end of a lease is made with the lock held throughout, unless the pool has a state for
 * each slot.  So in the child of a fork the lease is open, or its slots are free.
 *
 * ORDERING TABLE
 *   leased | word of the bitmap, load and CAS | relaxed | - | -
 *   made   | leases store                     | release | see  | the leases, all unused
 *   see    | leases load                      | acquire | made | the leases, all unused
 *   wrap   | gate store                       | release | pool_impl.h's gate | likewise
 *   home   | entry home load                  | relaxed | - | -
 *   owner  | a layer's word, store            | relaxed | - | - (its own order)
 *
 * A bit of the bitmap changes hands along with its slot, which orders it.
 */
#include "pool/feature.h"
#include "pool/pool_alloc.h"
#include "pool/pool_info.h"

#include "base/atomic.h"
#include "base/error.h"
#include "lease/lease.h"
#include "lease/lease_layer.h"
#include "host/os.h"
#include "cache/mark.h"
#include "track/track.h"

#define CPI_LEASED_BITS 64u

/* --- Handles --- */

/* The handle is none of an open lease, or the lease is in use at its end. */
CPI_COLD static void report_lease(const char *function, const cpool_lease_t *handle)
{
    cpool_error_t error = {
        .code = CPOOL_ELEASE, .function = function, .name = "", .address = handle};

    cpi_report(&error, "%s: %s (lease %p)", function, cpool_strerror(CPOOL_ELEASE),
               (const void *)handle);
}

/* The lease, or NULL after it was reported that there is none. */
static struct cpi_lease *lease_of(cpool_lease_t *handle, const char *function)
{
    cpool_t *descriptor = (cpool_t *)(void *)handle;
    uintptr_t lease = cpi_handle_is_one(descriptor) ? cpi_handle_lease(descriptor) : 0;

    if (CPI_UNLIKELY(lease == 0))
        report_lease(function, handle);
    return (struct cpi_lease *)lease;
}

static inline struct cpi_pool *pool_of(const struct cpi_lease *lease)
{
    return lease->registry->pool;
}

/* --- Which slots are leased, in pools with a state for each slot --- */

static struct cpi_leases *leases_of(const struct cpi_pool *pool)
{
    return cpi_load(&cpi_lease_part(pool->part)->leases, acquire); /* [see] */
}

static _Atomic uint64_t *word_of(const struct cpi_pool *pool, uintptr_t index, uint64_t *bit)
{
    *bit = (uint64_t)1 << index % CPI_LEASED_BITS;
    return &leases_of(pool)->leased[index / CPI_LEASED_BITS];
}

/* Whether a slot goes back with a lease, in a pool with a gate.  Wait-free. */
static bool is_leased(const struct cpi_pool *pool, uintptr_t index)
{
    uint64_t bit;

    return (cpi_load(word_of(pool, index, &bit), relaxed) & bit) != 0; /* [leased] */
}

/* The gate of a pool that has had a lease. */
static bool given(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    uintptr_t index = cpi_slab_index(&pool->slab, slot);

    if (CPI_LIKELY(!is_leased(pool, index)))
        return leases_of(pool)->passed->given(pool, slot, call);
    cpi_pool_report_slot(CPOOL_ELEASED, call.function, pool, index);
    return false;
}

static int retired(struct cpi_pool *pool, uintptr_t index, bool back)
{
    const struct cpi_gate *passed = leases_of(pool)->passed;

    if (CPI_UNLIKELY(is_leased(pool, index)))
        return CPOOL_ELEASED;
    return passed->retired != NULL ? passed->retired(pool, index, back) : 0;
}

/* In such pools: the slot is a lease's from now on, or of none.  Returns false if it was so
 * before.  Of two threads one gets true.  True in other pools. */
static bool set_leased(struct cpi_pool *pool, const void *slot, bool leased)
{
    _Atomic uint64_t *word;
    uint64_t old;
    uint64_t bit;

    if (leases_of(pool)->passed == NULL)
        return true;
    word = word_of(pool, cpi_slab_index(&pool->slab, slot), &bit);
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

    if (handle == NULL ||
        !cpi_lease_open(lease, &pool->registry, leases_of(pool)->caches, handle))
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

    return CPI_LIKELY(cache != NULL) ? cache
                                     : cpi_lease_join(lease, (const cpool_t *)(const void *)handle);
}

/* Goes inside a cache of the calling thread, after a thread that steals from it has left.
 * Returns false if the lease has ended meanwhile.  The end clears the thread's entry, and
 * another lease may have the structures of both by now. */
static inline bool enter(const struct cpi_lease *lease, const cpool_lease_t *handle,
                         struct cpi_cache *cache)
{
    unsigned times = 0;

    for (;;) {
        if (CPI_UNLIKELY(home_of(handle) != cache)) /* the mark would be another owner's */
            return false;
        if (CPI_LIKELY(cpi_mark_try_enter(cache)))
            break;
        cpi_os_back_off(times++);
    }
    if (CPI_LIKELY(home_of(handle) == cache && cpi_lease_has(lease, cache)))
        return true;
    cpi_mark_leave(cache);
    return false;
}

/* Whether the slot is the caller's.  In pools with a gate it may turn out to be live, because it
 * was freed twice.  It is leased after it is live, so that the end tells a slot with an alloc
 * that vanished in between, in a fork, from one that was freed twice. */
static inline bool mark(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    if (!cpi_pool_passes(pool, slot, call))
        return false;
    (void)set_leased(pool, slot, true);
    return true;
}

/* A slot from the calling thread's cache, or NULL.  One that turns out to be live is not
 * recorded. */
static void *alloc_from(struct cpi_cache *cache, const struct cpi_lease *lease,
                        const cpool_lease_t *handle, struct cpi_call call)
{
    struct cpi_pool *pool = pool_of(lease);
    bool marked;
    bool was;
    void *slot;

    cpi_pool_sample(pool, cache);
    while (enter(lease, handle, cache)) {
        slot = cpi_lease_alloc(cache);
        was = cpi_lease_begin_mark(cache);
        cpi_mark_leave(cache);
        marked = slot == NULL || mark(pool, slot, call);
        if (CPI_LIKELY(home_of(handle) == cache)) /* no report's handler has ended the lease */
            cpi_lease_end_mark(cache, was);
        if (marked)
            return slot;
        if (!enter(lease, handle, cache))
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
    } else if (enter(lease, handle, cache)) {
        done = cpi_lease_record(cache, slot);
        cpi_mark_leave(cache);
        cpi_pool_came(pool_of(lease), NULL); /* others may have looked past it meanwhile */
    }
    return done;
}

/* The pool is dry, or the thread can have no cache. */
CPI_COLD static void *alloc_elsewhere(struct cpi_lease *lease, const cpool_lease_t *handle,
                                      struct cpi_cache *cache, struct cpi_call call)
{
    struct cpi_pool *pool = pool_of(lease);
    struct cpi_cache *known = cpi_registry_known_cache(&pool->registry);
    void *slot = cpi_pool_alloc_slot(pool, known, call);

    if (slot == NULL)
        return NULL;
    (void)set_leased(pool, slot, true);
    if (record(lease, handle, cache, slot))
        return slot;
    (void)set_leased(pool, slot, false);
    cpi_pool_free(pool, known, slot, call);
    report_lease(call.function, handle);
    return NULL;
}

/* From the cache, which is that of the calling thread or NULL, or from the depot. */
static void *alloc_near(struct cpi_cache *cache, const struct cpi_lease *lease,
                        const cpool_lease_t *handle, struct cpi_call call)
{
    void *slot = NULL;

    if (CPI_LIKELY(cache != NULL))
        slot = alloc_from(cache, lease, handle, call);
    cpi_pool_moved(pool_of(lease), cache, slot);
    return slot;
}

void *cpi_lease_near(cpool_lease_t *handle)
{
    const struct cpi_call call = CPI_CALL("cpi_lease_near");
    struct cpi_lease *lease = lease_of(handle, call.function);

    return lease != NULL ? alloc_near(own_cache(lease, handle), lease, handle, call) : NULL;
}

void *cpool_lease_alloc_abi3(cpool_lease_t *handle)
{
    const struct cpi_call call = CPI_CALL("cpool_lease_alloc");
    struct cpi_lease *lease = lease_of(handle, call.function);
    struct cpi_cache *cache;
    void *slot;

    if (lease == NULL)
        return NULL;
    cache = own_cache(lease, handle);
    slot = alloc_near(cache, lease, handle, call);
    return CPI_LIKELY(slot != NULL) ? slot : alloc_elsewhere(lease, handle, cache, call);
}

/* --- Adopting --- */

/* Where a slot has a word, it is not live. */
static bool is_free(const struct cpi_pool *pool, uintptr_t index)
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

    if (!set_leased(pool, slot, true)) {
        code = CPOOL_ELEASED;
    } else if (is_free(pool, index)) {
        (void)set_leased(pool, slot, false);
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
    struct cpi_lease *lease = lease_of(handle, function);
    struct cpi_pool *pool;
    uintptr_t index;
    int code;

    if (lease == NULL)
        return CPOOL_ELEASE;
    if (slot == NULL)
        return 0;
    pool = pool_of(lease);
    code = cpi_pool_judge(pool, slot, function, &index);
    if (code == 0)
        code = claim(pool, index, function);
    if (code != 0)
        return code;
    slot = cpi_slab_slot(&pool->slab, index);
    if (record(lease, handle, own_cache(lease, handle), slot))
        return 0;
    (void)set_leased(pool, slot, false);
    report_lease(function, handle);
    return CPOOL_ELEASE;
}

/* --- The end --- */

/* Returns true if the slot goes back, in a pool with a gate.  One that is of no lease and not
 * live had an alloc that vanished in a fork, before it was marked.  Damage is repaired when it
 * is reported: the bytes after the slot at the first attempt, those before it at the second, so
 * that the third succeeds.  The slot is the lease's until it is not live any more, so that no
 * other free can end its life. */
static bool end_life(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    const struct cpi_gate *passed = leases_of(pool)->passed;
    uintptr_t index = cpi_slab_index(&pool->slab, slot);
    unsigned attempts = 3;
    bool ended = false;

    if (CPI_UNLIKELY(!is_leased(pool, index)))
        return cpi_track_map(pool) == NULL || is_free(pool, index);
    do
        ended = passed->given(pool, slot, call);
    while (!ended && !is_free(pool, index) && --attempts > 0);
    (void)set_leased(pool, slot, false);
    return ended;
}

/* Returns how many slots of the magazine go back.  It keeps those that go with it.  A report's
 * handler need not return, so the place is left until these slots are to be had. */
static size_t end_lives(struct cpi_pool *pool, struct cpi_magazine *magazine,
                        struct cpi_uncached **place, struct cpi_call call)
{
    const struct cpi_keeper *keeper = leases_of(pool)->passed->keeper;
    uint32_t count = cpi_magazine_count(magazine);
    unsigned times = 0;
    uint32_t ended = 0;
    uint32_t i;

    if (count == 0)
        return 0;
    cpi_place_leave(&pool->registry.places, *place);
    for (i = 0; i < count; i++)
        if (end_life(pool, magazine->rounds[i], call))
            magazine->rounds[ended++] = magazine->rounds[i];
    /* Not the last one, which the keeper may need. */
    while ((*place = cpi_place_try_enter(&pool->registry.places)) == NULL)
        cpi_os_back_off(times++);
    for (i = 0; keeper != NULL && i < ended; i++)
        keeper->put(pool, magazine->rounds[i]);
    cpi_magazine_set_count(magazine, keeper != NULL ? 0 : ended);
    return ended;
}

/* With a place, and the lock held, which is released while each slot is looked at. */
static size_t end_closed(struct cpi_lease *lease, struct cpi_uncached **place, struct cpi_call call)
{
    struct cpi_pool *pool = pool_of(lease);
    size_t slots = 0;
    uint32_t node;

    if (leases_of(pool)->passed != NULL) {
        cpi_unlock();
        while ((node = cpi_lease_take_magazine(lease->common)) != 0) {
            slots += end_lives(pool, cpi_depot_magazine(&pool->depot, node), place, call);
            cpi_lease_give_magazine(lease->common, node);
        }
        cpi_lock();
    }
    slots += cpi_lease_give_all(lease->common);
    cpi_registry_end_other(lease->registry, lease->common);
    cpi_lease_forget(lease);
    return slots;
}

/* While another thread may have all slots, the place keeps its cpool_destroy waiting. */
bool cpi_lease_end(cpool_lease_t *handle, const char *function, size_t *slots,
                   _Atomic(cpool_lease_t *) *owner)
{
    struct cpi_lease *lease = lease_of(handle, function);
    struct cpi_uncached *place;
    struct cpi_pool *pool;

    *slots = 0;
    if (lease == NULL)
        return false;
    pool = pool_of(lease);
    cpi_lock();
    place = cpi_lease_close(lease, (cpool_t *)(void *)handle);
    if (place != NULL && owner != NULL)
        cpi_store(owner, NULL, relaxed); /* [owner] */
    if (place != NULL)
        *slots = end_closed(lease, &place, CPI_CALL(function));
    cpi_unlock();
    if (place == NULL) {
        report_lease(function, handle);
        return false;
    }
    cpi_pool_came(pool, NULL);
    cpi_place_leave(&pool->registry.places, place);
    return true;
}

size_t cpool_lease_end(cpool_lease_t *handle)
{
    size_t slots;

    (void)cpi_lease_end(handle, "cpool_lease_end", &slots, NULL);
    return slots;
}
