/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_lease_end.c - all slots of a lease, and their end.
 *
 * Floor 6.
 *
 * Where slots are not looked at one by one, an end is made with the lock held throughout.  So
 * in the child of a fork the lease is open, or its slots are free.
 *
 * ORDERING TABLE
 *   alone | leases store, while no thread uses the pool | relaxed | - | -
 */
#include "pool_lease.h"

#include "atomic.h"
#include "os.h"
#include "quiet.h"

/* --- Visiting --- */

struct visitor {
    void (*visit)(void *slot, void *arg);
    void *arg;
    const struct cpi_pool *pool;
    struct cpi_swaps *swaps;
    size_t visited;
};

/* Slots that were promoted stand there until the end. */
static void visit_slot(void *context, void **place)
{
    struct visitor *visitor = context;

    if (cpi_swaps_pass(visitor->swaps, *place))
        return;
    visitor->visit(cpi_pool_shown(visitor->pool, cpi_slab_index(&visitor->pool->slab, *place)),
                   visitor->arg);
    visitor->visited++;
}

size_t cpool_lease_each(cpool_lease_t *handle, void (*visit)(void *slot, void *arg), void *arg)
{
    static const char function[] = "cpool_lease_each";
    struct cpi_lease *lease = cpi_pool_lease_of(handle, function);
    struct visitor visitor = {visit, arg, NULL, NULL, 0};
    bool at_rest = true;
    bool open;

    if (lease == NULL)
        return 0;
    cpi_lock();
    open = cpi_lease_gather(lease, (cpool_t *)(void *)handle, true, &at_rest);
    cpi_unlock();
    if (!open || !at_rest)
        cpi_pool_report_lease(function, handle);
    if (!open)
        return 0;
    cpi_pool_wake_waiters(lease->registry->pool); /* free slots of the lease went to the depot */
    visitor.pool = lease->registry->pool;
    visitor.swaps = &lease->swaps;
    cpi_swaps_rewind(visitor.swaps);
    cpi_lease_walk(lease->common, visit_slot, &visitor);
    cpi_quiet_report(function);
    return visitor.visited;
}

/* --- The end --- */

static const char end_function[] = "cpool_lease_end";

struct ending {
    struct cpi_pool *pool;
    struct cpi_lease *lease;
    const void *site;
    size_t swapped; /* slots that took the place of promoted ones */
};

/* A slot that was promoted makes way for the one that was taken in its place. */
static void swap_slot(void *context, void **place)
{
    struct ending *ending = context;
    void *other = cpi_swaps_take(&ending->lease->swaps, *place);

    if (other == NULL)
        return;
    *place = other;
    ending->swapped++;
}

/* Whether a fork came between the taking of the slot and its marks: see pool_lease.c. */
static bool is_unmarked(const struct cpi_pool *pool, const void *slot)
{
    uintptr_t index = cpi_slab_index(&pool->slab, slot);

    return !cpi_pool_is_leased(pool, index) && pool->slotmap.words != NULL &&
           cpi_slotmap_state(&pool->slotmap, index) != CPI_SLOTMAP_LIVE_ONE;
}

/* Damage is repaired when it is reported: the bytes after the slot at the first attempt, those
 * before it at the second, so that the third succeeds.  The slot is the lease's until it is not
 * live any more, so that no other free can end its life. */
static void give_slot(void *context, void **place)
{
    struct ending *ending = context;
    unsigned attempts = 3;

    if (CPI_UNLIKELY(is_unmarked(ending->pool, *place)))
        return;
    while (!cpi_pool_mark_ended(ending->pool, *place, end_function, ending->site) &&
           --attempts > 0)
        ;
    (void)cpi_pool_set_leased(ending->pool, *place, false);
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
        (void)cpi_pool_set_leased(pool, swap->other, false);
        cpi_pool_free(pool, cpi_registry_known_cache(&pool->registry),
                      cpi_pool_shown(pool, cpi_slab_index(&pool->slab, swap->other)),
                      end_function, NULL);
    }
}

/* In pools with a quarantine.  Returns how many slots there were. */
static size_t put_off_all(struct ending *ending)
{
    size_t slots = 0;
    void *slot;

    for (; (slot = cpi_lease_pop(ending->lease->common)) != NULL; slots++) {
        give_slot(ending, &slot);
        cpi_pool_put_off(ending->pool, slot);
    }
    return slots;
}

/* Looks at each slot.  Returns how many have gone back. */
static size_t end_each(struct ending *ending)
{
    struct cpi_lease *lease = ending->lease;

    if (lease->swaps.used > 0)
        cpi_lease_walk(lease->common, swap_slot, ending);
    report_strays(ending->pool, &lease->swaps);
    if (ending->pool->quarantine.size != 0)
        return put_off_all(ending);
    if (ending->pool->marks)
        cpi_lease_walk(lease->common, give_slot, ending);
    return 0;
}

/* With the lock held, which is given up if each slot has to be looked at. */
static size_t end_gathered(struct ending *ending)
{
    struct cpi_lease *lease = ending->lease;
    size_t slots = 0;

    if (ending->pool->marks || lease->swaps.used > 0) {
        cpi_unlock();
        slots = end_each(ending);
        cpi_lock();
    }
    slots += cpi_lease_give(lease->common);
    cpi_registry_end_leased(lease->registry, lease->common);
    cpi_lease_forget(lease);
    return slots - ending->swapped;
}

size_t cpool_lease_end(cpool_lease_t *handle)
{
    struct cpi_lease *lease = cpi_pool_lease_of(handle, end_function);
    struct ending ending = {NULL, lease, CPI_CALLER(), 0};
    bool at_rest = true;
    size_t slots = 0;
    bool open;

    if (lease == NULL)
        return 0;
    ending.pool = lease->registry->pool;
    cpi_lock();
    open = cpi_lease_gather(lease, (cpool_t *)(void *)handle, false, &at_rest);
    if (open)
        slots = end_gathered(&ending);
    cpi_unlock();
    if (!open || !at_rest)
        cpi_pool_report_lease(end_function, handle);
    if (!open)
        return 0;
    cpi_pool_wake_waiters(ending.pool);
    cpi_quiet_report(end_function);
    return slots;
}

void cpi_pool_end_leases(struct cpi_pool *pool)
{
    struct cpi_leases *leases = cpi_pool_leases(pool);
    unsigned i;

    if (leases == NULL)
        return;
    for (i = 0; i < CPOOL_LEASES_MAX; i++)
        if (leases->lease[i].handle != NULL)
            cpi_lease_forget(&leases->lease[i]);
    cpi_os_release(leases, leases->size);
    cpi_store(&pool->leases, NULL, relaxed); /* [alone] */
}
