/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_lease_end.c - the slots of a lease go back: at its end, or at a reset.
 *
 * Both are made with the lock held throughout, unless the pool has a state for each slot.  So in
 * the child of a fork the slots are the lease's, or free.
 *
 * A reset takes no lock where the calling thread alone has taken part, in a pool without a state
 * for each slot.  It is inside its cache then, as in an alloc.  Its slots may be another thread's
 * before it has called a waiter, and this thread may destroy the pool.  So the cache is marked as
 * in a free until the reset is done with the pool.
 *
 * ORDERING TABLE
 *   owner | a layer's word, store | relaxed | - | - (its own order)
 *   mark  | calls store 1         | relaxed | - | -
 *   rest  | calls store 0         | release | await.c's inside | the owner's last access
 *
 * [mark] needs no order of its own: the slots that are given afterwards publish it.
 */
#include "pool/feature.h"
#include "pool/pool_alloc.h"

#include "base/atomic.h"
#include "lease/lease_layer.h"
#include "lease/pool_lease.h"
#include "track/track.h"

/* --- One by one --- */

/* Returns true if the slot goes back, in a pool with a gate.  One that is of no lease and not
 * live had an alloc that vanished in a fork, before it was marked.  Damage is repaired when it
 * is reported: the bytes after the slot at the first attempt, those before it at the second, so
 * that the third succeeds.  The slot is the lease's until it is not live any more, so that no
 * other free can end its life. */
static bool end_life(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    const struct cpi_gate *passed = cpi_leases_of(pool)->passed;
    uintptr_t index = cpi_slab_index(&pool->slab, slot);
    unsigned attempts = 3;
    bool ended = false;

    if (CPI_UNLIKELY(!cpi_lease_has_slot(pool, index)))
        return cpi_track_map(pool) == NULL || cpi_lease_is_free(pool, index);
    do
        ended = passed->given(pool, slot, call);
    while (!ended && !cpi_lease_is_free(pool, index) && --attempts > 0);
    (void)cpi_lease_set_slot(pool, slot, false);
    return ended;
}

/* Returns how many slots of the magazine go back.  It keeps those that go with it.  A report's
 * handler need not return, so the place is left until these slots are to be had. */
static size_t end_lives(struct cpi_pool *pool, struct cpi_magazine *magazine,
                        struct cpi_uncached **place, struct cpi_call call)
{
    const struct cpi_keeper *keeper = cpi_leases_of(pool)->passed->keeper;
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

/* Those that the common cache has on record.  With a place, and the lock held, which is released
 * while each slot is looked at.  Of an open lease a thread that ends may leave more meanwhile. */
static size_t give_lives(struct cpi_lease *lease, struct cpi_uncached **place, bool ends,
                         struct cpi_call call)
{
    struct cpi_pool *pool = cpi_lease_pool(lease);
    size_t slots = 0;
    uint32_t node;

    if (ends)
        cpi_unlock();
    while ((node = cpi_lease_take_magazine(lease->common)) != 0) {
        if (!ends)
            cpi_unlock();
        slots += end_lives(pool, cpi_depot_magazine(&pool->depot, node), place, call);
        if (!ends)
            cpi_lock();
        cpi_lease_give_magazine(lease->common, node);
    }
    if (ends)
        cpi_lock();
    return slots;
}

/* --- All at once --- */

/* The records that were collected.  With a place, and the lock held. */
static size_t give_back(struct cpi_lease *lease, struct cpi_uncached **place, bool ends,
                        struct cpi_call call)
{
    size_t slots = 0;

    if (cpi_leases_of(cpi_lease_pool(lease))->passed != NULL)
        slots = give_lives(lease, place, ends, call);
    slots += cpi_lease_give_all(lease->common);
    if (ends) {
        cpi_registry_end_other(lease->registry, lease->common);
        cpi_lease_forget(lease);
    }
    return slots;
}

/* Slots that went back are handed to threads that have waited for too long, as freed ones are.
 * With a place.  May block. */
CPI_COLD static void hand_over(struct cpi_pool *pool, struct cpi_uncached *place)
{
    void *slot = NULL;

    do
        slot = cpi_depot_alloc_slot(&pool->depot, &place->counters);
    while (slot != NULL && pool->way->serve(pool, slot));
    if (slot != NULL)
        (void)cpi_depot_free_slot(&pool->depot, &place->counters, slot);
}

/* Returns false after it was reported that nothing has happened.  While another thread may have
 * all slots, the place keeps its cpool_destroy waiting. */
static bool give_all(struct cpi_lease *lease, cpool_lease_t *handle, bool ends,
                     struct cpi_call call, size_t *slots, _Atomic(cpool_lease_t *) *owner)
{
    struct cpi_pool *pool = cpi_lease_pool(lease);
    struct cpi_uncached *place;

    cpi_lock();
    place = cpi_lease_collect(lease, (cpool_t *)(void *)handle, ends);
    if (place != NULL && owner != NULL)
        cpi_store(owner, NULL, relaxed); /* [owner] */
    if (place != NULL)
        *slots = give_back(lease, &place, ends, call);
    cpi_unlock();
    if (place == NULL) {
        cpi_lease_report(call.function, handle);
        return false;
    }
    if (CPI_UNLIKELY(cpi_handle_is_asked(pool->handle)))
        hand_over(pool, place);
    cpi_pool_came(pool, NULL);
    cpi_place_leave(&pool->registry.places, place);
    return true;
}

/* --- The end --- */

bool cpi_lease_end(cpool_lease_t *handle, const char *function, size_t *slots,
                   _Atomic(cpool_lease_t *) *owner)
{
    struct cpi_lease *lease = cpi_lease_of(handle, function);

    *slots = 0;
    return lease != NULL && give_all(lease, handle, true, CPI_CALL(function), slots, owner);
}

size_t cpool_lease_end(cpool_lease_t *handle)
{
    size_t slots;

    (void)cpi_lease_end(handle, "cpool_lease_end", &slots, NULL);
    return slots;
}

/* --- A reset --- */

/* Gives back all of the lease, if that is what the calling thread's cache has on record.  Returns
 * false otherwise, and while a thread waits, because it finds slots soonest in the depot.  No
 * thread may use the pool any more when it is at rest. */
static bool give_own(struct cpi_lease *lease, const cpool_lease_t *handle, size_t *slots)
{
    struct cpi_pool *pool = cpi_lease_pool(lease);
    struct cpi_cache *cache = cpi_lease_home(handle);

    if (CPI_UNLIKELY(cache == NULL) || cpi_pool_gate(pool) != NULL ||
        cpi_handle_is_asked(pool->handle) ||
        !cpi_lease_is_alone(lease, cache) || !cpi_lease_enter(lease, handle, cache))
        return false;
    cpi_store(&cache->calls, 1u, relaxed); /* [mark] */
    *slots = cpi_lease_reset_own(cache);
    cpi_mark_leave(cache);
    cpi_pool_came(pool, cache);
    cpi_store(&cache->calls, 0u, release); /* [rest] */
    return true;
}

size_t cpi_lease_reset(cpool_lease_t *handle, const char *function)
{
    struct cpi_lease *lease = cpi_lease_of(handle, function);
    size_t slots = 0;

    if (CPI_LIKELY(lease != NULL) && !give_own(lease, handle, &slots))
        (void)give_all(lease, handle, false, CPI_CALL(function), &slots, NULL);
    return slots;
}

size_t cpool_lease_reset(cpool_lease_t *handle)
{
    return cpi_lease_reset(handle, "cpool_lease_reset");
}
