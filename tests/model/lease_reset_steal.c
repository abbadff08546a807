/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_reset_steal.c - the owner of a cache of a lease resets the lease, and uses the slot again,
 * while a stealing thread takes what is free in the cache.
 *
 * Holds: each slot has one holder, and its bytes are as the last one left them.
 */
#define MODEL_SYMMETRIC
#define MODEL_SHARE 16
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 8
#define MODEL_VISITORS 2u
#include "leases.h"

static void *taken[MODEL_SLOTS]; /* by the stealing thread */
static size_t again;
static size_t robbed;

static void *owner(void *number)
{
    void *slot;

    model_begin(number);
    assert(cpool_lease_reset(model_lease) == 1);
    slot = cpool_lease_alloc_abi3(model_lease);
    if (slot != NULL) {
        again = 1;
        model_use_slot(slot);
    }
    model_barrier_end();
    return NULL;
}

static void *stealer(void *number)
{
    struct cpi_uncached *place;
    void *slot;

    model_begin(number);
    place = cpi_place_enter(&model_pool.registry.places);
    cpi_steal_loaded(&model_pool.registry, place);
    cpi_place_leave(&model_pool.registry.places, place);
    while ((slot = cpi_depot_alloc_slot(&model_depot, model_own_counters())) != NULL) {
        taken[robbed++] = slot;
        model_use_slot(slot);
    }
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, stealer};
    void *slot;

    model_open_lease(true, true);
    model_self = 1;
    slot = cpool_lease_alloc_abi3(model_lease);
    assert(slot != NULL);
    model_use_slot(slot);
    model_self = 0;
    model_run(2, bodies);
    assert(again + robbed <= MODEL_SLOTS);
    model_self = 2;
    assert(cpool_lease_end(model_lease) == again);
    model_self = 0;
    while (robbed > 0)
        assert(cpi_depot_free_slot(&model_depot, &model_counters[0], taken[--robbed]));
    model_audit_lease();
    return 0;
}
