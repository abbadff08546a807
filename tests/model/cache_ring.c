/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_ring.c - the owner of a ring of three spares fills it until the oldest one goes
 * to the depot, takes some out and puts them back, and reviews after every second swap
 * how many it needs.  Meanwhile a stealing thread takes a spare out.
 *
 * Holds: after each step the first `stocked` places hold full magazines, the others
 * empty ones and those beyond the target none, except recalled ones.  No free is
 * refused, and nothing is lost.
 *
 * Too long for GenMC: for the explorer (tests/weak) alone.
 */
#define MODEL_COINS 0
#define MODEL_LIMIT 1
#define MODEL_MAGAZINES 12
#define MODEL_SPARES 3
#define MODEL_SLOTS 6

/* Frees, as 1, and allocs: the ring goes round, is reviewed with all of its places
 * full and with some, and shrinks and widens again. */
#define STEPS "11111 0001111 01010 0000 111111 0101 1000 11 0101 0000"

#include "model.h"

#include "cache/cache.h"
#undef CPI_REVIEW_SWAPS
#define CPI_REVIEW_SWAPS 2u

#include "caches.h"

static int *held[MODEL_SLOTS];
static int have;

static void check_ring(struct cpi_cache *cache)
{
    uint32_t i;

    assert(cache->target <= cache->quota && cpi_cache_stocked(cache) <= cache->target);
    for (i = 0; i < cache->ring_size; i++) {
        uint32_t node = cpi_cache_see(cache, i);
        uint32_t count = i < cpi_cache_stocked(cache) ? MODEL_LIMIT : 0;

        assert(node == 0 || cpi_magazine_count(cpi_cache_magazine(cache, node)) == count);
        assert(node == 0 || i < cache->target);
    }
}

static void free_one(struct cpi_cache *cache)
{
    have--;
    model_use_slot(held[have]);
    assert(cpi_cache_free(cache, held[have]));
}

/* The slots of the stealing thread are not to be had. */
static void alloc_one(struct cpi_cache *cache)
{
    int *slot = cpi_cache_alloc(cache);

    if (slot != NULL)
        held[have++] = slot;
}

static void *owner(void *number)
{
    struct cpi_cache *cache;
    const char *step;

    model_begin(number);
    cache = model_own_cache();
    for (step = STEPS; *step != '\0'; step++) {
        if (*step == '1' && have > 0)
            free_one(cache);
        else if (*step == '0' && have < MODEL_SLOTS)
            alloc_one(cache);
        check_ring(cache);
    }
    while (have > 0)
        free_one(cache);
    cpi_cache_flush(cache);
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, model_stealer};
    uintptr_t first;

    model_open_committed_depot();
    model_open_slab();
    model_open_caches(2);
    assert(model_claim(MODEL_SLOTS, &first) == MODEL_SLOTS);
    for (; have < MODEL_SLOTS; have++)
        held[have] = &model_slots[have];
    model_run(2, bodies);
    model_audit_caches(2);
    return 0;
}
