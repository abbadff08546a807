/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_alloc.h - the steps of an alloc and of a free, of which the ways are made.
 *
 * Includes pool_impl.h, pool_report.h.
 */
#ifndef CPI_POOL_ALLOC_H
#define CPI_POOL_ALLOC_H

#include "cache/mark.h"
#include "pool/pool_impl.h"
#include "pool/pool_report.h"

/* Of plain pools, and of exact ones where the kernel has a barrier (pool_slow.c). */
extern const struct cpi_way cpi_plain_way;
extern const struct cpi_way cpi_exact_way;

/* As a way's.  All public functions come down to these two. */
static inline void *cpi_pool_alloc(struct cpi_pool *pool, struct cpi_cache *cache,
                                   struct cpi_call call)
{
    return pool->way->alloc(pool, cache, call);
}

static inline void cpi_pool_free(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                                 struct cpi_call call)
{
    pool->way->free(pool, slot, cache, call);
}

/* The plain way's alloc, in a pool of any way: a slot of the slab's. */
void *cpi_pool_alloc_slot(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call);

/* Bits of what is left in a pool, at a glance, for somebody with this cache or NULL.  It reads and
 * takes nothing, and may be outdated when the caller has it.  Wait-free. */
#define CPI_LEFT_SLOTS 1u /* free slots in the depot, or in the cache */
#define CPI_LEFT_MORE 2u  /* and room for more than there have been so far */
unsigned cpi_pool_left(const struct cpi_pool *pool, const struct cpi_cache *cache);

/* Whether there is anything left, or in any cache.  Wait-free in their number. */
bool cpi_pool_has_any(const struct cpi_pool *pool);

/* As a way's, if there is anybody to be told. */
static inline void cpi_pool_came(struct cpi_pool *pool, struct cpi_cache *cache)
{
    if (CPI_UNLIKELY(pool->way->came != NULL))
        pool->way->came(pool, cache);
}

/* The same after an alloc that found this slot, or NULL.  Then the slots that its look has moved
 * are there for others, but room for which the system refuses memory is no reason to call. */
static inline void cpi_pool_moved(struct cpi_pool *pool, struct cpi_cache *cache,
                                  const void *slot)
{
    const struct cpi_way *way = pool->way;

    if (CPI_UNLIKELY(way->came != NULL) &&
        (slot != NULL || (cpi_pool_left(pool, cache) & CPI_LEFT_SLOTS) != 0))
        way->came(pool, cache);
}

/* All slots pass this gate from now on, before there are any.  There is no short way then. */
static inline void cpi_pool_set_gate(struct cpi_pool *pool, const struct cpi_gate *gate)
{
    pool->gate = gate;
    pool->way = &cpi_plain_way;
    pool->registry.inline_path = false;
}

/* pool_slow.c.  As those of a cache's brief, for any pool, by its way. */
void *cpi_pool_general_alloc(cpool_t *handle, cpool_cache_t *entry, struct cpi_cache *cache,
                             const void *site);
void cpi_pool_general_free(cpool_t *handle, void *slot, uintptr_t index, struct cpi_cache *cache,
                           const void *site);

extern const struct cpi_brief cpi_general_brief;

/* pool_slow.c.  That of the threads' caches, after the features have begun. */
const struct cpi_brief *cpi_pool_brief(const struct cpi_pool *pool);

/* pool_grow.c.  Adds `more` slots, which are committed or will be as they are used, and counts
 * that, if the bounds are still these.  Returns false otherwise.  Lock-free. */
bool cpi_pool_raise(struct cpi_pool *pool, uint64_t bounds, uintptr_t more);

/* With the kernel's barrier: the round on top of the loaded magazine, hidden from the inline path.
 * Returns false if it has none, or a stealing thread has it. */
CPI_WITHIN static inline bool cpi_pool_pop(struct cpi_cache *cache, void **slot)
{
    uintptr_t lock = cpi_mark_begin_pop(cache);
    bool popped = true;

    CPI_POP_BESIDE(&cache->hidden, lock, *slot, popped = false);
    cpi_mark_end_pop(cache);
    return popped;
}

/* The reverse, for a slot that has been handed out.  Returns false if there is no room, too. */
CPI_WITHIN static inline bool cpi_pool_push(struct cpi_cache *cache, void *slot)
{
    uintptr_t frees = cpi_mark_frees(cache);
    bool pushed = true;

    if (!cpi_mark_begin_push(cache, frees))
        return false;
    CPI_PUSH(&cache->hidden, slot, true, true, pushed = false);
    cpi_mark_end_push(cache, frees);
    return pushed;
}

/* pool_slow.c.  A cache that is shown in this entry, where the inline path ends: as those of a
 * typed pool, with its names. */
void *cpi_pool_alloc_shown(struct cpi_cache *cache, cpool_cache_t *entry);
void cpi_pool_free_shown(struct cpi_cache *cache, void *slot, uintptr_t index,
                         struct cpi_call call);

/* pool_cache.c.  An explicit cache's, where the inline path ends. */
void *cpi_pool_cache_alloc(cpool_cache_t *entry, struct cpi_call call);
void cpi_pool_cache_free(cpool_cache_t *entry, void *slot, uintptr_t index, struct cpi_call call);

/* pool_slow.c.  Somebody is to be told of a slot that the calling thread has pushed to its own
 * cache of the handle's pool, which may have been destroyed since.  May block. */
CPI_COLD void cpi_pool_tell(cpool_t *handle, struct cpi_call call);

/* A slot of this cache, of the depot or a fresh one, which has not passed the gate.  NULL if
 * there is none. */
void *cpi_pool_take(struct cpi_pool *pool, struct cpi_cache *cache);

/* The reverse.  Returns false if there is no place for the slot. */
bool cpi_pool_give(struct cpi_pool *pool, struct cpi_cache *cache, void *slot);

/* Looks everywhere, for the owner of this cache or for a thread without one.  It does
 * not lose slots that it finds on the way.  `awaits`: while a trim or shrink has the
 * depot's magazines it waits until some are back.  Otherwise the caller waits to be
 * called. */
void *cpi_pool_look(struct cpi_pool *pool, struct cpi_cache *cache, bool awaits);

/* The same, as often as it takes to know that every slot was live at some instant, after a pass
 * through this cache, the depot and the fresh slots in vain. */
CPI_COLD void *cpi_pool_look_again(struct cpi_pool *pool, struct cpi_cache *cache);

/* A way's free, which gives by this function a slot that may go back. */
CPI_WITHIN static inline void cpi_pool_free_by(bool (*give)(struct cpi_pool *pool,
                                                            struct cpi_cache *cache, void *slot),
                                               struct cpi_pool *pool, struct cpi_cache *cache,
                                               void *slot, struct cpi_call call)
{
    const struct cpi_gate *gate;
    uintptr_t index;

    if (CPI_UNLIKELY(cpi_slab_place(&pool->slab, slot, &index) != CPI_PLACE_SLOT)) {
        if (slot != NULL)
            (void)cpi_pool_judge(pool, slot, call.function, &index);
        return;
    }
    gate = pool->gate;
    if (CPI_UNLIKELY(gate != NULL) && !gate->given(pool, slot, call))
        return;
    /* From here on another thread may have destroyed the pool, unless there was no place
     * for the slot: plain pools learn of double frees only in this way. */
    if (CPI_UNLIKELY(!give(pool, cache, slot)))
        cpi_pool_report_slot(CPOOL_EDOUBLEFREE, call.function, pool, index);
}

#endif /* CPI_POOL_ALLOC_H */
