/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_steal.c - a stealing thread takes the free rounds of a cache of a lease, while the
 * owner obtains a slot from it.
 *
 * Holds: each slot has one holder, the lease or the stealing thread, and all go back.
 */
#define MODEL_SYMMETRIC
#define MODEL_SHARE 16
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 8
#define MODEL_VISITORS 2u
#include "leases.h"

static size_t obtained = 1;
static void *robbed;

static void *owner(void *number)
{
    void *slot;

    model_begin(number);
    slot = cpool_lease_alloc_abi3(model_lease);
    if (slot != NULL) {
        obtained++;
        model_use_slot(slot);
    }
    model_barrier_end();
    return NULL;
}

static void *stealer(void *number)
{
    struct cpi_uncached *place;

    model_begin(number);
    place = cpi_place_enter(&model_pool.registry.places);
    cpi_steal_loaded(&model_pool.registry, place);
    cpi_place_leave(&model_pool.registry.places, place);
    robbed = cpi_depot_alloc_slot(&model_depot, model_own_counters());
    if (robbed != NULL)
        model_use_slot(robbed);
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, stealer};

    model_open_lease(true, true);
    model_self = 1;
    assert(cpool_lease_alloc_abi3(model_lease) != NULL);
    model_self = 0;
    model_run(2, bodies);
    assert(obtained + (robbed != NULL) <= MODEL_SLOTS);
    model_self = 2;
    assert(cpool_lease_end(model_lease) == obtained);
    model_self = 0;
    if (robbed != NULL)
        assert(cpi_depot_free_slot(&model_depot, &model_counters[0], robbed));
    model_audit_lease();
    return 0;
}
