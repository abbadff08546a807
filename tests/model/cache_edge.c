/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_edge.c - refill and spill as cache_edge.h has them.  One owner gives a full magazine to the
 * depot in exchange for an empty one, takes a spare back and swaps it again.  Another one
 * exchanges its empty magazine for a full one.  Meanwhile a stealing thread takes a spare
 * of the first owner's to the depot.
 *
 * Holds: a slot has one owner at a time, which sees the last owner's writes, and the
 * second owner finds a full magazine.  Nothing is lost.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 4
#define MODEL_MAGAZINES 10
#include "caches.h"

#include "cache/cache_edge.h"

static void give(struct cpi_cache *cache, int *slot)
{
    uint32_t stocked = cpi_cache_stocked(cache);
    cpool_cache_t *active = cpi_cache_active(cache);
    uint32_t node;

    model_use_slot(slot);
    if (!cpi_cache_is_just_full(cache, active, cpi_slab_index(cache->slab, slot)))
        assert(cpi_cache_free(cache, slot));
    else if (stocked == cache->quota || !cpi_cache_spill_to_spare(cache, active, stocked, slot))
        assert(cpi_cache_spill_to_depot(cache, slot, &node) ||
               cpi_cache_spill_at_length(cache, node, slot));
}

static void *giver(void *number)
{
    struct cpi_cache *cache;
    int *first;
    void **second = NULL;
    uint32_t stocked;

    model_begin(number);
    cache = model_own_cache();
    give(cache, &model_slots[3]);
    first = cpi_cache_pop(cache);
    assert(first != NULL);
    stocked = cpi_cache_stocked(cache);
    if (stocked > 0)
        second = cpi_cache_refill_from_spare(cache, stocked - 1, 1);
    if (second != NULL)
        give(cache, *second);
    give(cache, first);
    return NULL;
}

static void *taker(void *number)
{
    void **slot;

    model_begin(number);
    model_be_lucky();
    slot = cpi_cache_refill_from_depot(model_own_cache(), 1);
    assert(slot != NULL);
    give(model_own_cache(), *slot);
    return NULL;
}

/* The giver has a full magazine loaded and a full spare.  The taker has
 * an empty one loaded and one for a spare.  The depot has a full one and an empty one. */
static void prepare(void)
{
    struct cpi_cache *cache = model_cache(1);
    uint32_t node = cpi_depot_take_empty(&model_depot, &model_counters[0]);
    int i;

    cpi_depot_give(&model_depot, &model_counters[0], node);
    for (i = 0; i < 2; i++)
        assert(cpi_cache_free(cache, &model_slots[i]));
    cache = model_cache(2);
    for (i = 2; i < 4; i++)
        assert(cpi_cache_free(cache, &model_slots[i]));
    for (i = 3; i > 1; i--)
        assert(cpi_cache_alloc(cache) == &model_slots[i]);
    model_stock(2, 1);
}

int main(void)
{
    static model_thread *const bodies[] = {giver, taker, model_stealer};
    uintptr_t first;

    model_open_committed_depot();
    model_open_slab();
    model_open_caches(3);
    assert(model_claim(MODEL_SLOTS, &first) == MODEL_SLOTS);
    prepare();
    model_run(3, bodies);
    model_audit_caches(3);
    return 0;
}
