/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * track_way.c - the life of tracked pools, where their slots change hands, and alloc and free in
 * those that are nothing else.
 *
 * The loaded magazine is used as on the inline path, without a mark, and the slot's word
 * changes with it.  A thread that vanishes in a fork between the two stores of an alloc leaves
 * a slot that is neither live nor free, and never one that is both.
 */
#include "pool/feature.h"
#include "pool/pool_alloc.h"
#include "pool/pool_report.h"

#include "base/atomic.h"
#include "base/tools.h"
#include "track/track.h"

/* --- The gate: where slots change hands --- */

/* Why a slot in this state cannot be freed. */
static int code_of(enum cpi_slotmap_state state)
{
    static const int codes[] = {
        [CPI_SLOTMAP_LIVE_ONE] = 0,
        [CPI_SLOTMAP_FREE] = CPOOL_EDOUBLEFREE,
        [CPI_SLOTMAP_RETIRED_ONE] = CPOOL_ERETIRED,
        [CPI_SLOTMAP_NEVER_TAKEN] = CPOOL_EUNUSED,
    };

    return codes[state];
}

bool cpi_track_end_life(struct cpi_pool *pool, uintptr_t index, const char *function)
{
    enum cpi_slotmap_state state = cpi_slotmap_give(cpi_track_map(pool), index);

    if (CPI_LIKELY(state == CPI_SLOTMAP_LIVE_ONE))
        return true;
    cpi_tools_freed_again(pool->tools, pool, cpi_slab_slot(&pool->slab, index));
    cpi_pool_report_slot(code_of(state), function, pool, index);
    return false;
}

int cpi_track_retired(struct cpi_pool *pool, uintptr_t index, enum cpi_retiring step)
{
    const struct cpi_slotmap *map = cpi_track_map(pool);

    if (step != CPI_RETIRING_BACK)
        return code_of(step == CPI_RETIRING_OUT ? cpi_slotmap_retire(map, index)
                                                : cpi_slotmap_state(map, index));
    cpi_slotmap_back(map, index);
    return 0;
}

static bool taken(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    uintptr_t index = cpi_slab_index(&pool->slab, slot);

    if (CPI_UNLIKELY(!cpi_slotmap_take(cpi_track_map(pool), index))) {
        cpi_pool_report_slot(CPOOL_EDOUBLEFREE, call.function, pool, index);
        return false;
    }
    cpi_tools_taken(pool->tools, pool, slot, pool->slab.slot_size);
    return true;
}

static bool given(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    if (!cpi_track_end_life(pool, cpi_slab_index(&pool->slab, slot), call.function))
        return false;
    cpi_tools_given(pool->tools, pool, slot, pool->slab.slot_size);
    return true;
}

static const struct cpi_gate track_gate = {taken, given, cpi_track_retired};

/* --- The way, of pools that are nothing else --- */

/* A slot of the loaded magazine.  Its word says that it is live from now on.  Returns false, and
 * changes nothing, if it is not that simple. */
CPI_WITHIN static inline bool take(const cpool_t *handle, struct cpi_cache *cache, void **taken)
{
    const struct cpi_slotmap map = {.words = cpi_slotmap_words(cache->slab)}; /* at a load less */
    cpool_cache_t *entry = &cache->hidden;
    uintptr_t index;
    void *slot;

    CPI_POP(entry, slot, return false);
    CPOOL_INDEX_(handle, slot, index);
    *taken = slot;
    if (CPI_LIKELY(cpi_slotmap_take(&map, index)))
        return true;
    CPI_PUSH(entry, slot, true, true, (void)0); /* for the long way, which reports it */
    return false;
}

/* The reverse. */
CPI_WITHIN static inline bool give(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                                   uintptr_t index)
{
    cpool_cache_t *entry = &cache->hidden;

    CPI_PUSH(entry, slot, index < entry->bound,
             pool->gate == &track_gate &&
                 cpi_slotmap_give_live(cpi_track_map(pool), index),
             return false);
    return true;
}

static void *brief_alloc(cpool_t *handle, cpool_cache_t *entry, struct cpi_cache *cache,
                         const void *site)
{
    void *slot;

    if (CPI_LIKELY(take(handle, cache, &slot)))
        return slot;
    return cpi_pool_general_alloc(handle, entry, cache, site);
}

static void brief_free(cpool_t *handle, void *slot, uintptr_t index, struct cpi_cache *cache,
                       const void *site)
{
    if (CPI_UNLIKELY(!give(handle->state, cache, slot, index)))
        cpi_pool_general_free(handle, slot, 0, cache, site);
}

static const struct cpi_brief brief = {brief_alloc, brief_free};

static void *alloc(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call)
{
    void *slot;

    if (CPI_LIKELY(cache != NULL) && CPI_LIKELY(take(pool->handle, cache, &slot)))
        return slot;
    return cpi_pool_alloc_slot(pool, cache, call);
}

static void free_slot(struct cpi_pool *pool, void *slot, struct cpi_cache *cache,
                      struct cpi_call call)
{
    if (CPI_UNLIKELY(cache == NULL ||
                     !give(pool, cache, slot, cpi_slab_index(&pool->slab, slot))))
        cpi_plain_way.free(pool, slot, cache, call);
}

static const struct cpi_way track_way = {.brief = &brief, .alloc = alloc, .free = free_slot};

/* --- The life of a pool --- */

/* In a pool that is checked or watched, too. */
CPI_COLD void cpi_track_plan(struct cpi_layout *layout)
{
    layout->sides[CPI_SIDE_WORDS] = CPI_SLOTMAP_SIZE;
    layout->parts[CPI_PART_MAP] = sizeof(struct cpi_slotmap);
}

CPI_COLD void cpi_track_begin(struct cpi_pool *pool)
{
    if (cpi_track_map(pool) == NULL)
        return;
    cpi_slotmap_init(cpi_track_map(pool), &pool->slab);
    cpi_pool_set_gate(pool, &track_gate);
    if (!pool->registry.exact && pool->tools == 0)
        pool->way = &track_way;
}

CPI_COLD void cpi_track_reset(struct cpi_pool *pool)
{
    uintptr_t fresh = cpi_track_map(pool) != NULL ? cpi_slab_fresh(&pool->slab) : 0;

    for (uintptr_t index = 0; index < fresh; index++)
        cpi_slotmap_clear(cpi_track_map(pool), index);
}
