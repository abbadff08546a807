/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_review.c - the owner of a cache with a ring of four places, three of them full, takes
 * two slots and frees them, and reviews its spares at every second swap.  Meanwhile a
 * stealing thread brings one of them to the depot.
 *
 * Holds: the claims of cache_steal.c, and no full magazine lies above the full spares.
 */
#define CPI_REVIEW_SWAPS 2u
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 4
#define MODEL_SPARES 4
#define MODEL_MAGAZINES 12
#include "caches.h"

static void take_two_and_give(struct cpi_cache *cache)
{
    int *held[2];
    int i;

    for (i = 0; i < 2; i++) {
        held[i] = cpi_cache_alloc(cache);
        if (held[i] != NULL)
            model_use_slot(held[i]);
    }
    for (i = 0; i < 2; i++)
        if (held[i] != NULL)
            assert(cpi_cache_free(cache, held[i]));
}

static void *owner(void *number)
{
    model_begin(number);
    take_two_and_give(model_own_cache());
    return NULL;
}

/* Above the full spares there are empty ones and free places. */
static void audit_ring(struct cpi_cache *cache)
{
    uint32_t i;

    for (i = cpi_cache_stocked(cache); i < MODEL_SPARES; i++)
        assert(cpi_cache_see(cache, i) == 0 ||
               cpi_magazine_count(cpi_cache_magazine(cache, cpi_cache_see(cache, i))) == 0);
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
    take_two_and_give(model_cache(1)); /* and reviews, which sees the spares of now */
    model_run(2, bodies);
    audit_ring(model_cache(1));
    model_audit_caches(2);
    return 0;
}
