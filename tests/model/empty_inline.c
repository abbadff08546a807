/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_inline.c - an owner frees a slot and allocates one by the inline path, or opens its entry
 * for that.  Meanwhile a thread without a cache looks for a slot.
 *
 * Holds: the thread finds one, as another slot than the owner's is free all the time.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#include "pool.h"

static void *owner(void *number)
{
    model_begin(number);
    model_be_lucky();
    model_free(&model_slots[1]);
    model_kept = model_alloc();
    model_barrier_end();
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, model_looker};

    model_open_pool(1, 0);
    model_free_by(model_cache(1), &model_slots[0]);
    model_run(2, bodies);
    model_give_back(model_kept);
    model_audit_caches();
    return 0;
}
