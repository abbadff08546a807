/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_quarantine.c - freed slots on their way through the quarantine.
 *
 * A slot is in the quarantine, in the depot, or in the hands of an operation that holds
 * a place of the registry.  So an alloc that finds the pool dry either finds the slot, or
 * waits for that operation.
 */
#include "pool/pool_alloc.h"
#include "wait/pool_wait.h"

void cpi_pool_put_off(struct cpi_pool *pool, void *slot)
{
    struct cpi_uncached *uncached = cpi_place_enter(&pool->registry.places);
    void *out = cpi_quarantine_swap(&pool->quarantine, slot);

    if (out != NULL && !(pool->way->came != NULL && cpi_pool_hand_over(pool, out, NULL)))
        (void)cpi_depot_free_slot(&pool->depot, &uncached->counters, out);
    cpi_pool_came(pool, NULL);
    cpi_place_leave(&pool->registry.places, uncached);
}

bool cpi_pool_end_quarantine(struct cpi_pool *pool)
{
    struct cpi_uncached *uncached;
    void *slot;

    if (CPI_LIKELY(pool->quarantine.size == 0))
        return false;
    uncached = cpi_place_enter(&pool->registry.places);
    slot = cpi_quarantine_take(&pool->quarantine);
    if (slot != NULL)
        (void)cpi_depot_free_slot(&pool->depot, &uncached->counters, slot);
    cpi_place_leave(&pool->registry.places, uncached);
    return slot != NULL;
}
