/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stealers.h - an exact pool with owners that mark their operations, and its stealing
 * threads.
 *
 * The library's steal.c, compiled here with the files of caches.h: with
 * membarrier where MODEL_BARRIER is defined, otherwise in the symmetric variant.
 */
#ifndef MODEL_THIEVES_H
#define MODEL_THIEVES_H

#ifdef MODEL_BARRIER
#include "barrier.h"
#endif
#include "caches.h"

#undef CPI_PAUSE
#define CPI_PAUSE() ((void)0)
#define CPI_LOOKS 2u
#include "cache/steal.c"

static struct cpi_registry model_registry;

/* The identity of a thread. */
_Thread_local uintptr_t cpool_thread_word_abi1;

#ifdef MODEL_BARRIER
bool cpi_os_barrier_ready(void)
{
    return true;
}

void cpi_os_barrier(void)
{
    model_barrier();
}
#else
bool cpi_os_barrier_ready(void)
{
    return false;
}

void cpi_os_barrier(void)
{
    assert(0);
}

static inline void model_barrier_end(void)
{
}
#endif

size_t cpi_registry_made(const struct cpi_registry *registry)
{
    (void)registry;
    return 1;
}

struct cpi_cache *cpi_registry_cache(const struct cpi_registry *registry, size_t i)
{
    (void)registry;
    return model_cache(1 + (int)i);
}

#ifdef MODEL_SHORT
/* As pool_alloc.h does it. */
static inline bool model_push(struct cpi_cache *cache, int *slot)
{
    uintptr_t frees = cpi_mark_frees(cache);
    bool pushed = true;

    if (!cpi_mark_begin_push(cache, frees))
        return false;
    CPI_PUSH(&cache->hidden, slot, true, true, pushed = false);
    cpi_mark_end_push(cache, frees);
    return pushed;
}

static inline int *model_pop(struct cpi_cache *cache)
{
    uintptr_t lock = cpi_mark_begin_pop(cache);
    int *slot = NULL;

    CPI_POP_BESIDE(&cache->hidden, lock, slot, slot = NULL);
    cpi_mark_end_pop(cache);
    return slot;
}
#elif defined(MODEL_INLINE)
/* As a typed pool's functions do it. */
static inline bool model_push(struct cpi_cache *cache, int *slot)
{
    cpool_cache_t *entry = &cache->hidden;

    CPOOL_PUSH_MARKED_(entry, slot, true, return false);
    return true;
}

static inline int *model_pop(struct cpi_cache *cache)
{
    cpool_cache_t *entry = &cache->hidden;
    void *slot;

    CPOOL_POP_MARKED_(entry, slot, return NULL);
    return slot;
}
#else
static inline bool model_push(struct cpi_cache *cache, int *slot)
{
    (void)cache;
    (void)slot;
    return false;
}

static inline int *model_pop(struct cpi_cache *cache)
{
    (void)cache;
    return NULL;
}
#endif

/* As pool_alloc.c does it. */
static inline void model_free_marked(int *slot)
{
    if (model_push(model_own_cache(), slot))
        return;
    if (!cpi_mark_try_enter(model_own_cache())) {
        assert(cpi_depot_free_slot(&model_depot, model_own_counters(), slot));
        return;
    }
    assert(cpi_cache_free(model_own_cache(), slot));
    cpi_mark_leave(model_own_cache());
}

static inline int *model_alloc_marked(void)
{
    int *slot = model_pop(model_own_cache());

    if (slot != NULL)
        return slot;
    if (!cpi_mark_try_enter(model_own_cache()))
        return cpi_depot_alloc_slot(&model_depot, model_own_counters());
    slot = cpi_cache_alloc(model_own_cache());
    cpi_mark_leave(model_own_cache());
    return slot;
}

/*
 * All slots are claimed.  Thread 1 owns the one cache that can be revoked, with
 * slot 0 loaded.
 */
static inline void model_open_exact(void)
{
    uintptr_t first;

    model_open_committed_depot();
    model_open_slab();
    model_open_caches(2);
    cpi_mark_startup();
    model_registry.depot = &model_depot;
    model_registry.slab = &model_slab;
    model_registry.exact = true;
    model_cache(1)->registry = &model_registry;
    cpi_cache_open(model_cache(1), &model_cache(1)->own, false, MODEL_SPARES, NULL);
    assert(model_claim(MODEL_SLOTS, &first) == MODEL_SLOTS);
    assert(cpi_cache_free(model_cache(1), &model_slots[0]));
}

#endif /* MODEL_THIEVES_H */
