/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_flush.c - an owner flushes its cache, which has one magazine loaded and a full
 * spare.  Meanwhile a thread without a cache looks for a slot.
 *
 * Holds: the thread finds one, as both slots are free all the time.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#include "pool.h"

int main(void)
{
    static model_thread *const bodies[] = {model_flusher, model_looker};
    int i;

    model_open_pool(1, 0);
    for (i = 0; i < MODEL_SLOTS; i++)
        model_free_by(model_cache(1), &model_slots[i]);
    model_run(2, bodies);
    model_audit_caches();
    return 0;
}
