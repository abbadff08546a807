/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_offer.c - an owner frees two slots, so that the second and the third place of its spares
 * get full magazines.  Meanwhile a stealing thread takes the spares it finds, in three looks.
 *
 * Holds: the claims of cache_steal.c, also for a stealing thread that looked at an older
 * number of full spares.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 4
#define MODEL_SPARES 3
#include "caches.h"

static uint32_t stolen[MODEL_SPARES];

static void owner(void)
{
    model_be_lucky();
    for (int i = 2; i < MODEL_SLOTS; i++)
        model_free(&model_slots[i]);
}

static void stealer(void)
{
    model_be_lucky();
    for (int i = 0; i < MODEL_SPARES; i++) {
        stolen[i] = cpi_cache_steal(model_cache(1), false);
        if (stolen[i] != 0)
            model_use_slot(cpi_depot_magazine(&model_depot, stolen[i])->rounds[0]);
    }
}

int main(void)
{
    model_open_caches(1);
    for (int i = 0; i < 2; i++)
        model_free_by(model_cache(1), &model_slots[i]);
    MODEL_RUN(owner, stealer);
    for (int i = 0; i < MODEL_SPARES; i++)
        if (stolen[i] != 0)
            cpi_depot_give(&model_depot, &model_counters[0], stolen[i]);
    model_audit_caches();
    return 0;
}
