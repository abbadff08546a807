/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * track_way.c - alloc and free in pools that are tracked and nothing else.
 *
 * The loaded magazine is used as on the inline path, without a mark, and the slot's word
 * changes with it.  A thread that vanishes in a fork between the two stores of an alloc leaves
 * a slot that is neither live nor free, and never one that is both.
 *
 * ORDERING TABLE
 *   leased | gate load | relaxed | - | -
 *
 * [leased] A thread that frees a slot of a lease has learnt of the slot by synchronisation,
 * after the pool had its first lease, so it sees that the gate is another one.
 */
#include "pool/pool_alloc.h"

#include "base/atomic.h"

static void *alloc(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call)
{
    cpool_cache_t *entry;
    void *slot;

    if (CPI_UNLIKELY(cache == NULL))
        return cpi_pool_alloc_slot(pool, cache, call);
    entry = &cache->hidden;
    CPI_POP(entry, slot, return cpi_pool_alloc_slot(pool, cache, call));
    if (CPI_LIKELY(cpi_slotmap_take(&pool->slotmap, cpi_slab_index(&pool->slab, slot))))
        return slot;
    CPI_PUSH(entry, slot, true, true, (void)0); /* for the long way, which reports it */
    return cpi_pool_alloc_slot(pool, cache, call);
}

static void free_slot(struct cpi_pool *pool, void *slot, struct cpi_cache *cache,
                      struct cpi_call call)
{
    uintptr_t index = cpi_slab_index(&pool->slab, slot);
    cpool_cache_t *entry;

    if (CPI_UNLIKELY(cache == NULL)) {
        cpi_plain_way.free(pool, slot, cache, call);
        return;
    }
    entry = &cache->hidden;
    CPI_PUSH(entry, slot, index < entry->bound,
             cpi_load(&pool->gate, relaxed) == &cpi_track_gate && /* [leased] */
                 cpi_slotmap_give(&pool->slotmap, index) == CPI_SLOTMAP_LIVE_ONE,
             cpi_plain_way.free(pool, slot, cache, call));
}

const struct cpi_way cpi_track_way = {.alloc = alloc, .free = free_slot, .stray = cpi_pool_stray};
