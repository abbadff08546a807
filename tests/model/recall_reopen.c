/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recall_reopen.c - in an exact pool a stealing thread is about to revoke a cache.  Its owner
 * ends, and the registry opens it for the next owner.
 *
 * Holds: the claims of recall_loaded.c, and the next owner begins with nothing.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 8
#include "stealers.h"

static void *owner(void *number)
{
    struct cpi_cache *cache;

    model_begin(number);
    cache = model_own_cache();
    cpi_mark_flush(cache);
    cpi_cache_open(cache, &cache->own, false, MODEL_SPARES, NULL);
    model_use_slot(&model_slots[1]);
    model_free_marked(&model_slots[1]);
    model_barrier_end();
    return NULL;
}

static void *stealer(void *number)
{
    model_begin(number);
    cpi_steal_loaded(&model_registry, model_own_counters());
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, stealer};

    model_open_exact();
    model_run(2, bodies);
    model_audit_caches(2);
    return 0;
}
