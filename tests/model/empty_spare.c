/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_spare.c - an owner flushes its cache, which has one full spare.  Another thread has closed
 * its entry and taken what was loaded.  Meanwhile a thread without a cache looks for a slot.
 *
 * Holds: the thread finds it, as the slot is free all the time.  Only the place of the spare, and
 * the number of spares, say that the owner is inside.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#include "pool.h"

int main(void)
{
    model_open_pool(1, 0);
    for (int i = 0; i < MODEL_SLOTS; i++)
        model_free_by(model_cache(1), &model_slots[i]);
    model_kept = model_alloc_by(model_cache(1));
    (void)close_all(&model_registry);
    assert(take_loaded(&model_registry, model_cache(1), NULL));
    MODEL_RUN(model_flusher, model_looker);
    model_give_back(model_kept);
    model_audit_caches();
    return 0;
}
