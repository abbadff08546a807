/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_swap.c - an owner with a full magazine loaded frees a second slot, for which it puts the
 * magazine among its spares, and allocates one.  Meanwhile a thread without a cache looks for a
 * slot.
 *
 * Holds: the thread finds one, as the first slot is free all the time.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#include "pool.h"

static void owner(void)
{
    model_be_lucky();
    model_give(&model_slots[1]);
    model_kept = model_alloc();
}

int main(void)
{
    model_open_pool(1, 0);
    for (int i = 0; i < MODEL_SLOTS; i++)
        model_free_by(model_cache(1), &model_slots[i]);
    for (int i = 0; i < MODEL_SLOTS; i++)
        (void)model_alloc_by(model_cache(1));
    model_free_by(model_cache(1), &model_slots[0]);
    MODEL_RUN(owner, model_looker);
    model_give_back(model_kept);
    model_audit_caches();
    return 0;
}
