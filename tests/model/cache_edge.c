/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_edge.c - the short ways of alloc.c at the edges of an open magazine.  One owner gives a
 * full magazine to the depot in exchange for an empty one, takes a spare back and swaps it again.
 * Another one exchanges its empty magazine for a full one.  Meanwhile a thread closes their entries
 * and takes what they have, or a spare alone.
 *
 * Holds: a slot has one owner at a time, which sees the last owner's writes.  Nothing is lost.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 4
#include "pool.h"

static cpool_t model_handle = {.state = &model_pool};

static void give(int *slot)
{
    struct cpi_cache *cache = model_own_cache();

    model_use_slot(slot);
    CPOOL_PUSH_(cache->entry, slot, true,
                cpi_pool_free_near(&model_handle, cache, slot, cpi_slab_index(cache->slab, slot),
                          CPI_CALL("model")));
}

static int *take_one(void)
{
    struct cpi_cache *cache = model_own_cache();
    int *slot;

    CPOOL_POP_(cache->entry, slot,
               slot = cpi_pool_alloc_near(&model_handle, cache, CPI_CALL("model")));
    if (slot != NULL)
        model_use_slot(slot);
    return slot;
}

static void giver(void)
{
    int *first, *second;

    give(&model_slots[3]);
    first = take_one();
    second = take_one();
    if (second != NULL)
        give(second);
    if (first != NULL)
        give(first);
}

static void taker(void)
{
    int *slot;

    model_be_lucky();
    slot = take_one();
    if (slot != NULL)
        give(slot);
}

static void closer(void)
{
    model_be_lucky();
    if (!cpi_reclaim_spare(&model_registry))
        model_reclaimer();
}

/* The giver has a full magazine loaded and a full spare.  The taker has an empty one loaded and one
 * for a spare.  The depot has a full one and an empty one. */
static void prepare(void)
{
    struct cpi_cache *cache = model_cache(1);

    for (int i = 0; i < 2; i++)
        model_free_by(cache, &model_slots[i]);
    cache = model_cache(2);
    for (int i = 2; i < 4; i++)
        model_free_by(cache, &model_slots[i]);
    for (int i = 3; i > 1; i--)
        assert(model_alloc_by(cache) == &model_slots[i]);
    model_stock(2, 1);
    cpi_depot_give(&model_depot, &model_counters[0],
                   cpi_depot_take_empty(&model_depot, &model_counters[0]));
}

int main(void)
{
    model_open_pool(2, 0);
    prepare();
    MODEL_RUN(giver, taker, closer);
    model_audit_caches();
    return 0;
}
