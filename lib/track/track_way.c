/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * track_way.c - the life of tracked pools, and alloc and free in those that are nothing else.
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
#include "pool/feature.h"
#include "pool/pool_alloc.h"

#include "base/atomic.h"
#include "track/track.h"

static void *alloc(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call)
{
    const struct cpi_slotmap map = {.words = cpi_slotmap_words(&pool->slab)}; /* at a load less */
    cpool_cache_t *entry;
    void *slot;

    if (CPI_UNLIKELY(cache == NULL))
        return cpi_pool_alloc_slot(pool, cache, call);
    entry = &cache->hidden;
    CPI_POP(entry, slot, return cpi_pool_alloc_slot(pool, cache, call));
    if (CPI_LIKELY(cpi_slotmap_take(&map, cpi_slab_index(&pool->slab, slot))))
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
                 cpi_slotmap_give(cpi_track_map(pool), index) == CPI_SLOTMAP_LIVE_ONE,
             cpi_plain_way.free(pool, slot, cache, call));
}

const struct cpi_way cpi_track_way = {.alloc = alloc, .free = free_slot, .stray = cpi_pool_stray};

/* --- The life of a pool --- */

void cpi_track_plan(struct cpi_layout *layout)
{
    layout->sides[CPI_SIDE_WORDS] = CPI_SLOTMAP_SIZE;
    layout->parts[CPI_PART_TRACK] = sizeof(struct cpi_slotmap);
}

CPI_COLD static void plan(struct cpi_layout *layout, const cpool_config_t *config)
{
    if ((config->flags & CPOOL_TRACKED) != 0)
        cpi_track_plan(layout);
}

CPI_COLD static int begin(struct cpi_pool *pool, const struct cpi_layout *layout,
                 const cpool_config_t *config)
{
    bool exact = pool->registry.exact;

    (void)config;
    if (layout->sides[CPI_SIDE_WORDS] == 0)
        return 0;
    cpi_slotmap_init(cpi_track_map(pool), &pool->slab);
    cpi_pool_set_gate(pool, &cpi_track_gate);
    if (!exact && pool->tools == 0)
        pool->way = &cpi_track_way;
    return 0;
}

CPI_COLD static void reset(struct cpi_pool *pool)
{
    uintptr_t fresh = cpi_track_map(pool) != NULL ? cpi_slab_fresh(&pool->slab) : 0;
    uintptr_t index;

    for (index = 0; index < fresh; index++)
        cpi_slotmap_clear(cpi_track_map(pool), index);
}

const struct cpi_feature cpi_track_feature = {
    .flags = CPOOL_TRACKED, .plan = plan, .begin = begin, .reset = reset};
