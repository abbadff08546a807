/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_swap.c - an owner with a full magazine loaded frees a second slot, for which it puts the
 * magazine among its spares, and allocates one.  Meanwhile a thread without a cache looks for a
 * slot.
 *
 * Holds: the thread finds one, as the first slot is free all the time.  Before and after, the cache
 * shows no round, and nothing comes to the depot.  Only the number of swaps tells of the move.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 6
#include "pool.h"

static void *owner(void *number)
{
    model_begin(number);
    assert(cpi_pool_give(&model_pool, model_own_cache(), &model_slots[1]));
    (void)cpi_pool_take(&model_pool, model_own_cache());
    model_barrier_end();
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, model_looker};
    int i;

    model_open_pool(true, 0);
    for (i = 0; i < MODEL_SLOTS; i++)
        assert(cpi_cache_free(model_cache(1), &model_slots[i]));
    for (i = 0; i < MODEL_SLOTS; i++)
        assert(cpi_cache_alloc(model_cache(1)) != NULL);
    assert(cpi_cache_free(model_cache(1), &model_slots[0]));
    model_run(2, bodies);
    return 0;
}
