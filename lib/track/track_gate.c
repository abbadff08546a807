/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * track_gate.c - where slots of tracked pools change hands.
 */
#include "track/track.h"

#include "base/tools.h"
#include "pool/pool_report.h"

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

const struct cpi_gate cpi_track_gate = {taken, given, cpi_track_retired};
