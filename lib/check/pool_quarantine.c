/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_quarantine.c - freed slots on their way through the quarantine.
 *
 * A slot is in the quarantine, in the depot, or in the hands of an operation that holds
 * a place of the registry.  So an alloc that finds the pool dry either finds the slot, or
 * waits for that operation.
 */
#include "check/checks.h"
#include "pool/pool_alloc.h"

static struct cpi_quarantine *quarantine_of(const struct cpi_pool *pool)
{
    return &cpi_checks_of(pool)->quarantine;
}

static void put(struct cpi_pool *pool, void *slot)
{
    struct cpi_uncached *uncached = cpi_place_enter(&pool->registry.places);
    void *out = cpi_quarantine_swap(quarantine_of(pool), slot);

    if (out != NULL && !(pool->way->serve != NULL && pool->way->serve(pool, out)))
        (void)cpi_depot_free_slot(&pool->depot, &uncached->counters, out);
    cpi_pool_came(pool, NULL);
    cpi_place_leave(&pool->registry.places, uncached);
}

static bool give_one(struct cpi_pool *pool)
{
    struct cpi_uncached *uncached = cpi_place_enter(&pool->registry.places);
    void *slot = cpi_quarantine_take(quarantine_of(pool));

    if (slot != NULL)
        (void)cpi_depot_free_slot(&pool->depot, &uncached->counters, slot);
    cpi_place_leave(&pool->registry.places, uncached);
    return slot != NULL;
}

/* Others may go on to put slots there. */
static bool give(struct cpi_pool *pool, bool all)
{
    size_t most = all ? quarantine_of(pool)->size : 1;
    size_t given = 0;

    while (given < most && give_one(pool))
        given++;
    return given > 0;
}

static size_t count(const struct cpi_pool *pool)
{
    return cpi_quarantine_count(quarantine_of(pool));
}

static uint64_t puts_so_far(const struct cpi_pool *pool)
{
    return cpi_quarantine_moves(quarantine_of(pool));
}

const struct cpi_keeper cpi_quarantine_keeper = {put, give, count, puts_so_far};
