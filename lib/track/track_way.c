/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * track_way.c - the life of tracked pools, where their slots change hands, and alloc and free in
 * those that are nothing else.
 *
 * The loaded magazine is used as on the inline path, and the slot's word
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

/* --- Alloc and free in pools that are nothing else: the inline path, hidden from programs, and a
 * change of the slot's word --- */

/* A slot that is live already, as it was freed twice, is in the magazine no more. */
CPI_COLD static void *take_another(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                                   struct cpi_call call)
{
    return taken(pool, slot, call) ? slot : cpi_pool_alloc(pool, cache, call);
}

/* The word says that the slot is live from now on. */
void *cpi_track_alloc(const cpool_t *handle, struct cpi_cache *cache, struct cpi_call call)
{
    const struct cpi_slotmap map = {.words = cpi_slotmap_words(cache->slab)}; /* at a load less */
    cpool_cache_t *active = &cache->hidden;
    uintptr_t index;
    void *slot;

    CPOOL_POP_(active, slot, return cpi_pool_alloc(handle->state, cache, call));
    CPOOL_INDEX_(handle, slot, index);
    return CPI_LIKELY(cpi_slotmap_take(&map, index))
               ? slot
               : take_another(handle->state, cache, slot, call);
}

/* The reverse.  The word is changed while there is room for the slot for sure. */
void cpi_track_free(const cpool_t *handle, struct cpi_cache *cache, void *slot, uintptr_t index,
                    struct cpi_call call)
{
    struct cpi_pool *pool = handle->state;
    cpool_cache_t *active = &cache->hidden;
    uintptr_t count;

    CPOOL_ENTER_(active, count);
    if (CPI_LIKELY(count < CPOOL_COUNT_(&active->limit)) && CPI_LIKELY(index < active->bound) &&
        CPI_LIKELY(cpi_slotmap_give_live(cpi_track_map(pool), index))) {
        active->rounds[count] = slot;
        CPOOL_SHOW_(&active->count, count + 1);
        return;
    }
    cpi_cache_unmark(active, count & ~CPI_BUSY);
    cpi_pool_free(pool, cache, slot, call);
}

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
    pool->registry.tracked = pool->tools == 0;
}

CPI_COLD void cpi_track_reset(struct cpi_pool *pool)
{
    uintptr_t fresh = cpi_track_map(pool) != NULL ? cpi_slab_fresh(&pool->slab) : 0;

    for (uintptr_t index = 0; index < fresh; index++)
        cpi_slotmap_clear(cpi_track_map(pool), index);
}
