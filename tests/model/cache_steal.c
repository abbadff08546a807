/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_steal.c - while the owner of a cache frees two slots, so that one
 * magazine is loaded and one is a full spare, and allocates and frees them
 * again, and flushes the cache as a thread that ends does, a stealing thread brings a spare
 * out of the cache into the depot, as recall does.
 *
 * Holds: a spare goes to the stealing thread or to the owner.  Each sees its count, its
 * rounds and its slots.  Nothing is lost.
 */
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 6
#include "caches.h"

static int *held[MODEL_SLOTS];

/* The first time with a spare place that is free, later with an empty spare. */
static void free_all(void)
{
    int i;

    for (i = 0; i < MODEL_SLOTS; i++) {
        if (held[i] == NULL)
            continue;
        model_use_slot(held[i]);
        cpi_cache_free(model_own_cache(), held[i]);
    }
}

static void alloc_all(void)
{
    int i;

    for (i = 0; i < MODEL_SLOTS; i++)
        held[i] = cpi_cache_alloc(model_own_cache());
}

static void *owner(void *number)
{
    model_begin(number);
    free_all();
    alloc_all();
    free_all();
    cpi_cache_flush(model_own_cache());
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, model_stealer};
    uintptr_t first;
    int i;

    model_open_committed_depot();
    model_open_slab();
    model_open_caches(2);
    assert(model_claim(MODEL_SLOTS, &first) == MODEL_SLOTS);
    for (i = 0; i < MODEL_SLOTS; i++)
        held[i] = &model_slots[i];
    model_run(2, bodies);
    model_audit_caches(2);
    return 0;
}
