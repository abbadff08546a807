/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recall_loaded.c - in an exact pool a stealing thread takes the magazine that an owner has
 * loaded, while the owner frees a slot and allocates one.
 *
 * Holds: stealing thread and owner are never both at the loaded magazine.  Each sees
 * the other's changes to it.  Nothing is lost.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 8
#include "stealers.h"

static int *kept;
static int *robbed;

static void *owner(void *number)
{
    model_begin(number);
    model_use_slot(&model_slots[1]);
    model_free_marked(&model_slots[1]);
    kept = model_alloc_marked();
    if (kept != NULL)
        model_use_slot(kept);
    model_barrier_end();
    return NULL;
}

static void *stealer(void *number)
{
    model_begin(number);
    if (!cpi_steal_loaded(&model_registry, model_own_counters()))
        return NULL;
    robbed = cpi_depot_alloc_slot(&model_depot, model_own_counters());
    if (robbed != NULL)
        model_use_slot(robbed);
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, stealer};

    model_open_exact();
    model_run(2, bodies);
    if (kept != NULL)
        assert(cpi_cache_free(model_cache(0), kept));
    if (robbed != NULL)
        assert(cpi_cache_free(model_cache(0), robbed));
    model_audit_caches(2);
    return 0;
}
