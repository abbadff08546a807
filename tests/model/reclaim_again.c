/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim_again.c - a thread closes an entry.  Meanwhile its owner swaps magazines and ends, and
 * the structure is made ready for another owner.
 *
 * Holds: the thread takes no magazine that is not loaded any more.  Nothing is lost.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#include "caches.h"

static int *kept;
static cpool_cache_t next; /* the entry of the next owner, in a table */

static void *owner(void *number)
{
    model_begin(number);
    model_be_lucky();
    kept = model_alloc();
    cpi_registry_remove_cache(&model_registry, model_own_cache());
    cpi_cache_begin(model_own_cache(), &next, model_registry.inline_path && cpi_has_barrier(),
                    MODEL_SPARES, NULL);
    model_barrier_end();
    return NULL;
}

static void *closer(void *number)
{
    unsigned begun;

    model_begin(number);
    model_be_lucky();
    begun = cpi_reclaim_begin(&model_registry);
    (void)cpi_reclaim_all(&model_registry, NULL, false);
    cpi_reclaim_end(&model_registry, begun);
    return NULL;
}

/* An empty magazine is loaded, and a full one is a spare. */
int main(void)
{
    static model_thread *const bodies[] = {owner, closer};
    int i;

    model_open_caches(1);
    for (i = 0; i < MODEL_SLOTS; i++)
        model_free_by(model_cache(1), &model_slots[i]);
    model_give_back(model_alloc_by(model_cache(1)));
    model_run(2, bodies);
    model_give_back(kept);
    model_audit_caches();
    return 0;
}
