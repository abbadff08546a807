/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_exchange.c - two threads allocate and free through their caches: one
 * spills what it freed into the depot, the other refills from there or from
 * fresh slots.
 *
 * Holds: a slot has one owner at a time, which sees the last owner's writes.
 * Nothing is lost.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 4
#define MODEL_MAGAZINES 8
#include "caches.h"

static int *kept;

static void *freer(void *number)
{
    int i;

    model_begin(number);
    for (i = 0; i < 3; i++) {
        model_use_slot(&model_slots[i]);
        cpi_cache_free(model_own_cache(), &model_slots[i]);
    }
    return NULL;
}

static void *allocator(void *number)
{
    model_begin(number);
    kept = cpi_cache_alloc(model_own_cache());
    assert(kept != NULL);
    model_use_slot(kept);
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {freer, allocator};
    uintptr_t first;

    model_open_committed_depot();
    model_open_slab();
    model_open_caches(2);
    assert(model_claim(3, &first) == 3 && first == 0);
    model_run(2, bodies);
    cpi_cache_free(model_cache(0), kept);
    model_audit_caches(2);
    return 0;
}
