/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * caches.h - threads with a cache each, on one depot and one slab.
 *
 * The library's cache.c and slab.c, compiled here with the files of store.h.
 */
#ifndef MODEL_CACHES_H
#define MODEL_CACHES_H

#include "store.h"

#include "cache/cache.c"
#include "store/slab.c"

/* Spares of each cache. */
#ifndef MODEL_SPARES
#define MODEL_SPARES 1
#endif

/* Of the slots, those beyond the capacity. */
#ifndef MODEL_SLACK
#define MODEL_SLACK 0
#endif

/* A cache with the ring that follows it. */
union model_cache {
    struct cpi_cache cache;
    char room[(offsetof(struct cpi_cache, spare) + MODEL_SPARES * sizeof(uint32_t) + CPI_LINE - 1) /
              CPI_LINE * CPI_LINE];
};

#ifndef model_slab /* a part of something larger */
static struct cpi_slab model_slab;
#endif
static union model_cache model_caches[MODEL_THREADS_MAX];

/* No slab here is watched. */
void cpi_guard_bumped(const struct cpi_slab *slab, uintptr_t first, uintptr_t n)
{
    (void)slab;
    (void)first;
    (void)n;
    assert(0);
}

static inline void model_open_slab(void)
{
    static const struct cpi_slab_shape shape = {sizeof model_slots[0], sizeof model_slots[0],
                                                MODEL_SLOTS - MODEL_SLACK,
                                                MODEL_SLOTS - MODEL_SLACK, MODEL_SLOTS};
    static struct cpi_extent extent;

    cpi_extent_init_committed(&extent, model_slots, sizeof model_slots);
    cpi_slab_init(&model_slab, &extent, 0, &shape);
}

/* Bumps fresh slots.  Returns how many, from *first on. */
static inline size_t model_claim(size_t n, uintptr_t *first)
{
    return cpi_cache_bump(&model_slab, &model_depot, n, 0, first);
}

static inline struct cpi_cache *model_cache(int number)
{
    return &model_caches[number].cache;
}

/* The calling thread's. */
static inline struct cpi_cache *model_own_cache(void)
{
    return model_cache(model_self);
}

static inline void model_open_caches(int threads)
{
    int i;

    for (i = 0; i <= threads; i++) {
        struct cpi_cache *cache = model_cache(i);

        cache->slab = &model_slab;
        cache->depot = &model_depot;
        cache->quota_max = MODEL_SPARES;
        cpi_cache_open(cache, &cache->own, true, MODEL_SPARES, NULL);
    }
}

/* A thread that brings a spare of the first owner's cache to the depot, as recall does. */
static inline void *model_stealer(void *number)
{
    const struct cpi_magazine *magazine;
    uint32_t node;

    model_begin(number);
    node = cpi_cache_steal(model_cache(1));
    if (node == 0)
        return NULL;
    magazine = cpi_depot_magazine(&model_depot, node);
    if (cpi_magazine_count(magazine) != 0)
        model_use_slot(magazine->rounds[0]);
    cpi_depot_give(&model_depot, model_own_counters(), node);
    return NULL;
}

/* When all slots have been given back: each is fresh or, after the flush, in
 * the depot. */
static inline void model_audit_caches(int threads)
{
    int i;

    for (i = 0; i <= threads; i++)
        cpi_cache_flush(model_cache(i));
    model_audit_depot((uint32_t)cpi_slab_fresh(&model_slab));
}

#endif /* MODEL_CACHES_H */
