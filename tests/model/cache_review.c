/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_review.c - the owner of a cache with a ring of three spares, all full, takes
 * two slots and frees them, and reviews its spares at every second swap.  Meanwhile a
 * stealing thread brings one of them to the depot.
 *
 * Holds: the claims of cache_steal.c.
 */
#define CPI_REVIEW_SWAPS 2u
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 4
#define MODEL_SPARES 3
#define MODEL_MAGAZINES 9
#include "caches.h"

static void *owner(void *number)
{
    int *held[2];
    int i;

    model_begin(number);
    for (i = 0; i < 2; i++) {
        held[i] = cpi_cache_alloc(model_own_cache());
        if (held[i] != NULL)
            model_use_slot(held[i]);
    }
    for (i = 0; i < 2; i++)
        if (held[i] != NULL)
            assert(cpi_cache_free(model_own_cache(), held[i]));
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, model_stealer};
    uintptr_t first;
    int i;

    model_open_committed_depot();
    model_open_slab();
    model_open_caches(2);
    assert(model_claim(MODEL_SLOTS, &first) == MODEL_SLOTS);
    for (i = 0; i < MODEL_SLOTS; i++)
        assert(cpi_cache_free(model_cache(1), &model_slots[i]));
    model_run(2, bodies);
    model_audit_caches(2);
    return 0;
}
