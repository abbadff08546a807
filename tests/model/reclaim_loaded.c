/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim_loaded.c - a thread closes the entry of an owner, which frees a slot and allocates one by
 * the inline path, takes what is loaded, adds a slot to it, and takes two out.
 *
 * Holds: never two are at the loaded magazine.  Each sees the other's changes to it.  Nothing is
 * lost.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 3
#define MODEL_SLOTS 3
#include "caches.h"

static int *kept;
static int *second; /* of the other thread */

static void owner(void)
{
    model_free(&model_slots[1]);
    kept = model_alloc();
}

static void reclaimer(void)
{
    unsigned begun;

    model_be_lucky();
    begun = cpi_reclaim_begin(&model_registry);
    (void)cpi_reclaim_all(&model_registry, NULL, false);
    assert(cpi_depot_free_slot(&model_depot, model_own_counters(), &model_slots[2]));
    cpi_reclaim_end(&model_registry, begun);
    model_reclaimed[model_self] = model_take();
    second = model_take();
}

int main(void)
{
    model_open_caches(1);
    model_free_by(model_cache(1), &model_slots[0]);
    MODEL_RUN(owner, reclaimer);
    model_give_back(kept);
    model_give_back(second);
    model_audit_caches();
    return 0;
}
