/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim_again.c - a thread has closed an entry whose owner was inside, and passed the barrier.
 * It takes what is loaded.  Meanwhile the owner swaps its magazines, leaves and ends, and the
 * structure is made ready for another owner.
 *
 * Holds: the thread takes no magazine that is not loaded any more.  Nothing is lost.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#include "caches.h"

static int *kept;
static cpool_cache_t next; /* the entry of the next owner, in a table */

static void owner(void)
{
    struct cpi_cache *cache;
    void **round;

    model_be_lucky();
    cache = model_own_cache();
    round = cpi_cache_refill_from_spare(cache, cpi_cache_active(cache), 0, 1);
    kept = round != NULL ? *round : NULL;
    cpi_cache_leave(cache, cpi_cache_active(cache));
    cpi_registry_remove_cache(&model_registry, cache);
    cpi_cache_begin(cache, &next, model_registry.inline_path && cpi_has_barrier(), MODEL_SPARES,
                    NULL);
}

static void closer(void)
{
    model_be_lucky();
    (void)take_loaded(&model_registry, model_cache(1), NULL);
}

/* An empty magazine is loaded, and a full one is a spare. */
static void prepare(struct cpi_cache *cache)
{
    for (int i = 0; i < MODEL_SLOTS; i++)
        model_free_by(cache, &model_slots[i]);
    model_give_back(model_alloc_by(cache));
    assert(cpi_cache_enter(cache, cpi_cache_active(cache)));
    (void)cpi_reclaim_begin(&model_registry);
    (void)close_all(&model_registry);
}

int main(void)
{
    model_open_caches(1);
    prepare(model_cache(1));
    MODEL_RUN(owner, closer);
    model_give_back(kept);
    model_audit_caches();
    return 0;
}
