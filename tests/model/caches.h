/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * caches.h - threads with a cache each, on one depot and one slab, and threads that close their
 * entries.
 *
 * The library's cache.c, reclaim.c, registry.c and slab.c, compiled here with the files of
 * store.h.  Thread 1 and those that follow it own a cache, as many as the model registers.  The
 * others have none.  Each cache is one with a handle, so its entry is its own.
 *
 * The kernel has the barrier unless MODEL_FENCELESS is defined: then no entry is open to the
 * inline path, and the owners' marks are sequentially consistent.  With MODEL_HIDDEN it has it,
 * and no entry is open to the inline path all the same, as in a tracked pool.
 */
#ifndef MODEL_CACHES_H
#define MODEL_CACHES_H

#include "barrier.h"

/* Spares of each cache. */
#ifndef MODEL_SPARES
#define MODEL_SPARES 1
#endif

/* Operations with a closed entry before it is opened. */
#ifndef CPI_CALM
#define CPI_CALM 0u
#endif

#define CPI_LOOKS 2u
#ifndef CPI_HANDLES
#define CPI_HANDLES 2u
#define CPI_HANDLES_KEPT 1u
#endif

/* Operations without a cache at once, and the magazines for them and for slots. */
#ifndef MODEL_VISITORS
#define MODEL_VISITORS 2u
#endif
#ifndef MODEL_MAGAZINES
#define MODEL_MAGAZINES (MODEL_SLOTS / MODEL_LIMIT + 1 + 2 * MODEL_VISITORS)
#endif

/* The caches that there may be, and their magazines. */
#define MODEL_CACHES 2
#define MODEL_FOR_CACHES (MODEL_CACHES * (3 + MODEL_SPARES)) /* CPI_CACHE_HANDS */

#include "store.h"

#include "cache/registry.h"

#ifndef model_slab /* a part of something larger */
static struct cpi_slab model_slab;
static struct cpi_registry model_registry;
#endif

/* Inlined, the library's variables are registers: the checker mistakes one on a
 * stack for an older one that lay there. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)
#endif

#undef CPI_PAUSE
#define CPI_PAUSE() ((void)0)

#include "depot/slab.c"
#include "cache/cache.c"
#include "cache/reclaim.c"
#include "cache/registry.c"

#if defined(__clang__)
#pragma clang attribute pop
#endif

/* A cache with the spares that follow it. */
union model_cache {
    struct cpi_cache cache;
    char room[(offsetof(struct cpi_cache, spare) + MODEL_SPARES * sizeof(uint32_t) + CPI_LINE - 1) /
              CPI_LINE * CPI_LINE];
};

static union model_cache model_caches[MODEL_CACHES];

/* --- The system, and the lock --- */

static pthread_mutex_t model_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cpi_handles model_handles;
_Atomic(struct cpi_handles *) cpi_handles_at = &model_handles;
_Thread_local uintptr_t cpool_thread_word_abi1;

void cpi_lock(void)
{
    pthread_mutex_lock(&model_lock);
}

void cpi_unlock(void)
{
    pthread_mutex_unlock(&model_lock);
}

bool cpi_os_barrier_ready(void)
{
#ifdef MODEL_FENCELESS
    return false;
#else
    return true;
#endif
}

bool cpi_os_barrier(void)
{
    model_barrier();
    return true;
}

const struct cpi_options *cpi_options(void)
{
    static const struct cpi_options none;

    return &none;
}

#include "absent.h"

/* --- Owners --- */

static inline void model_open_slab(void)
{
    model_slab.slot_size = sizeof model_slots[0];
    model_slab.stride = sizeof model_slots[0];
    model_slab.slots = MODEL_SLOTS;
    cpi_extent_init(&model_slab.extent, model_slots, sizeof model_slots, 1, sizeof model_slots);
    cpi_slab_init(&model_slab, MODEL_SLOTS);
}

/* Bumps fresh slots.  Returns how many, from *first on. */
static inline size_t model_claim(size_t n, uintptr_t *first)
{
    return cpi_cache_bump(&model_slab, &model_depot, n, 0, first);
}

/* The thread's, from 1 on. */
static inline struct cpi_cache *model_cache(int thread)
{
    return &model_caches[thread - 1].cache;
}

static inline struct cpi_cache *model_own_cache(void)
{
    return model_cache(model_self);
}

/* Registers one more. */
static inline void model_register(void)
{
    struct cpi_cache *cache;
    int code = cpi_registry_add_cache(&model_registry, &cache);

    assert(code == 0);
}

/* So many owners, with closed entries that may be opened at once, and so many slots that have been
 * handed out. */
static inline void model_open_some(int owners, size_t slots)
{
    uintptr_t first;

    model_open_committed_depot();
    model_open_slab();
    cpi_barrier_startup();
    model_registry.slab = &model_slab;
    model_registry.depot = &model_depot;
    model_registry.max = MODEL_CACHES;
    model_registry.quota_max = MODEL_SPARES;
    model_registry.stride = sizeof(union model_cache);
    model_registry.spares = MODEL_CACHES * (MODEL_SPARES - 1);
#ifndef MODEL_HIDDEN
    model_registry.inline_path = true;
#endif
    assert(CPI_CACHE_HANDS == 3);
    assert(cpi_registry_bytes(1, MODEL_SPARES) == sizeof(union model_cache));
    cpi_extent_init(&model_registry.caches, model_caches, sizeof model_caches, 1,
                    sizeof model_caches);
    if (slots > 0)
        assert(model_claim(slots, &first) == slots && first == 0);
    while (owners-- > 0)
        model_register();
}

/* All slots have been. */
static inline void model_open_caches(int owners)
{
    model_open_some(owners, MODEL_SLOTS);
}

/* As <cpool/fast.h> and alloc.c have it. */
static inline int *model_alloc_by(struct cpi_cache *cache)
{
    cpool_cache_t *entry = cache->entry;
    void *slot;

    if (cpi_cache_active(cache) == entry)
        CPOOL_POP_(entry, slot, return cpi_cache_take(cache));
    else if (!cpi_cache_pop(cache, cpi_cache_active(cache), &slot))
        return cpi_cache_take(cache);
    return slot;
}

static inline void model_free_by(struct cpi_cache *cache, int *slot)
{
    cpool_cache_t *entry = cache->entry;

    if (cpi_cache_active(cache) == entry)
        CPOOL_PUSH_(entry, slot, true, assert(cpi_cache_give(cache, slot)));
    else if (!cpi_cache_push(cache, cpi_cache_active(cache), slot))
        assert(cpi_cache_give(cache, slot));
}

/* The calling thread's, which uses the slot. */
static inline int *model_alloc(void)
{
    int *slot = model_alloc_by(model_own_cache());

    if (slot != NULL)
        model_use_slot(slot);
    return slot;
}

static inline void model_free(int *slot)
{
    if (slot == NULL)
        return;
    model_use_slot(slot);
    model_free_by(model_own_cache(), slot);
}

/* --- Others --- */

/* A slot of the depot, without a cache. */
static inline int *model_take(void)
{
    struct cpi_uncached uncached;
    int *slot;

    cpi_depot_enter(&model_depot, &uncached);
    slot = cpi_depot_alloc_slot(&model_depot, &uncached.counters);
    cpi_depot_leave(&model_depot, &uncached);
    if (slot != NULL)
        model_use_slot(slot);
    return slot;
}

/* Closes all entries, takes what is there, and a slot of that.  Its owner is left alone after a
 * few looks. */
static inline int *model_reclaim(void)
{
    unsigned begun = cpi_reclaim_begin(&model_registry);
    int *slot;

    (void)cpi_reclaim_all(&model_registry, NULL, false);
    slot = model_take();
    cpi_reclaim_end(&model_registry, begun);
    return slot;
}

/* A thread that does, and keeps the slot. */
static int *model_reclaimed[MODEL_THREADS_MAX + 1];

static inline void model_reclaimer(void)
{
    model_reclaimed[model_self] = model_reclaim();
}

/* When the threads have ended: a slot that one of them kept goes back. */
static inline void model_give_back(int *slot)
{
    if (slot != NULL)
        assert(cpi_depot_free_slot(&model_depot, &model_counters[0], slot));
}

/* When all slots have been given back: each is in the depot after the flush. */
static inline void model_audit_caches(void)
{
    for (size_t i = 0; i < MODEL_THREADS_MAX + 1; i++)
        model_give_back(model_reclaimed[i]);
    for (size_t i = 0; i < cpi_registry_made(&model_registry); i++)
        if (model_caches[i].cache.used)
            cpi_cache_flush(&model_caches[i].cache);
    model_audit_depot((uint32_t)cpi_slab_fresh(&model_slab));
}

#endif /* MODEL_CACHES_H */
