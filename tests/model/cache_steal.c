/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_steal.c - while the owner of a cache frees two slots, so that one
 * magazine is loaded and one is a full spare, and allocates and frees them
 * again, and flushes the cache as a thread that ends does, another thread brings a spare
 * out of the open cache to the depot, as a dry alloc does, and takes its slot.
 *
 * Holds: a spare goes to the stealing thread or to the owner.  Each sees its count, its
 * rounds and its slots.  Nothing is lost.
 */
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#include "caches.h"

static int *held[MODEL_SLOTS];

/* The first time with a spare place that is free, later with an empty spare. */
static void free_all(void)
{
    for (int i = 0; i < MODEL_SLOTS; i++)
        model_free(held[i]);
}

static void owner(void)
{
    free_all();
    for (int i = 0; i < MODEL_SLOTS; i++)
        held[i] = model_alloc();
    free_all();
    cpi_cache_flush(model_own_cache());
}

static void stealer(void)
{
    if (cpi_reclaim_spare(&model_registry))
        model_reclaimed[model_self] = model_take();
}

int main(void)
{
    model_open_caches(1);
    for (int i = 0; i < MODEL_SLOTS; i++)
        held[i] = &model_slots[i];
    MODEL_RUN(owner, stealer);
    model_audit_caches();
    return 0;
}
