/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_spare.c - an owner flushes its cache, which shows no round and has one full
 * spare.  Meanwhile a thread without a cache looks for a slot.
 *
 * Holds: the thread finds it, as the slot is free all the time.  The count that the
 * cache shows tells nothing here, before the flush and after it.  Only the place of the
 * spare, and the number of spares, say that the owner is inside.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 6
#include "pool.h"

int main(void)
{
    static model_thread *const bodies[] = {model_flusher, model_looker};
    int i;

    model_open_pool(false, 0);
    for (i = 0; i < MODEL_SLOTS; i++)
        assert(cpi_cache_free(model_cache(1), &model_slots[i]));
    assert(cpi_cache_pop(model_cache(1)) == &model_slots[1]);
    model_run(2, bodies);
    return 0;
}
