/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_steal.c - a thread brings the full spare of an owner that sleeps to the depot.  Meanwhile
 * another thread without a cache looks for a slot.
 *
 * Holds: it finds the one that is being moved.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#include "pool.h"

static void stealer(void)
{
    model_be_lucky();
    (void)cpi_reclaim_spare(&model_registry);
}

int main(void)
{
    model_open_pool(1, 0);
    for (int i = 0; i < MODEL_SLOTS; i++)
        model_free_by(model_cache(1), &model_slots[i]);
    model_kept = model_alloc_by(model_cache(1));
    MODEL_RUN(stealer, model_looker);
    model_give_back(model_kept);
    model_audit_caches();
    return 0;
}
