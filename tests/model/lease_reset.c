/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_reset.c - a thread resets a lease, while another one ends that has taken a slot under it
 * before.
 *
 * Holds: the reset gives both slots back, whether the other thread's record is in its own cache
 * or in the common one.  Slots that are obtained later go back with the end.
 */
#define MODEL_SYMMETRIC
#define MODEL_SHARE 16
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 8
#define MODEL_VISITORS 2u
#include "leases.h"

static size_t reset;
static size_t again;

static void *user(void *number)
{
    void *slot;

    model_begin(number);
    reset = cpool_lease_reset(model_lease);
    while ((slot = cpool_lease_alloc_abi3(model_lease)) != NULL) {
        again++;
        model_use_slot(slot);
    }
    model_barrier_end();
    return NULL;
}

/* As a thread's end in registry.c. */
static void *leaver(void *number)
{
    struct cpi_registry *registry = &model_pool.registry;
    struct cpi_cache *cache;

    model_begin(number);
    cache = model_entries[model_self].home;
    cpi_lock();
    registry->leaving++;
    cpi_unlock();
    lease_owner.retreat(cache);
    cpi_lock();
    lease_owner.inherit(cache, false);
    cpi_registry_end_other(registry, cache);
    registry->leaving--;
    cpi_unlock();
    return NULL;
}

static void take_as(int thread)
{
    void *slot;

    model_self = thread;
    slot = cpool_lease_alloc_abi3(model_lease);
    assert(slot != NULL);
    model_use_slot(slot);
    model_self = 0;
}

int main(void)
{
    static model_thread *const bodies[] = {user, leaver};

    model_open_lease(false, true);
    take_as(1);
    take_as(2);
    model_run(2, bodies);
    assert(reset == 2);
    assert(cpool_lease_end(model_lease) == again);
    model_audit_lease();
    return 0;
}
