/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * track_gate.c - where slots of tracked pools change hands.
 */
#include "track/track.h"

#include "base/tools.h"
#include "pool/pool_report.h"

bool cpi_track_end_life(struct cpi_pool *pool, uintptr_t index, const char *function)
{
    enum cpi_slotmap_state state = cpi_slotmap_give(cpi_track_map(pool), index);
    bool never = state == CPI_SLOTMAP_NEVER_TAKEN;

    if (CPI_LIKELY(state == CPI_SLOTMAP_LIVE_ONE))
        return true;
    cpi_tools_freed_again(pool->tools, pool, cpi_slab_slot(&pool->slab, index));
    cpi_pool_report_slot(never ? CPOOL_EUNUSED : CPOOL_EDOUBLEFREE, function, pool, index);
    return false;
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

const struct cpi_gate cpi_track_gate = {taken, given, NULL};
