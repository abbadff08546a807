/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_mark.c - where slots change hands, in pools that do more about it than others.
 *
 * Floor 6.
 *
 * Pools without `marks` never come here.  What only some of the others want is behind a
 * flag of its own.
 */
#include "pool_impl.h"

#include "tools.h"

/* A pool that is only announced to tools may have no words. */
static bool has_words(const struct cpi_pool *pool)
{
    return pool->slotmap.words != NULL;
}

bool cpi_pool_mark_taken(struct cpi_pool *pool, void *slot, const char *function, const void *site)
{
    uintptr_t index = cpi_slab_index(&pool->slab, slot);

    if (pool->checked) {
        enum cpi_guard_finding finding = cpi_guard_verify(&pool->slab, index);

        cpi_guard_set_site(&pool->slab, index, site);
        if (finding != CPI_GUARD_GOOD)
            cpi_pool_report_slot(CPOOL_EGUARD, function, pool, index);
    }
    if (CPI_UNLIKELY(has_words(pool) && !cpi_slotmap_take(&pool->slotmap, index))) {
        cpi_pool_report_slot(CPOOL_EDOUBLEFREE, function, pool, index);
        return false;
    }
    cpi_tools_taken(pool->tools, pool, slot, pool->slab.slot_size);
    return true;
}

static void report_not_live(const struct cpi_pool *pool, uintptr_t index,
                            enum cpi_slotmap_state state, const char *function)
{
    bool never = state == CPI_SLOTMAP_NEVER_TAKEN;

    cpi_tools_freed_again(pool->tools, pool, cpi_slab_slot(&pool->slab, index));
    cpi_pool_report_slot(never ? CPOOL_EUNUSED : CPOOL_EDOUBLEFREE, function, pool, index);
}

/* Returns false after it has reported why this slot cannot be freed. */
static bool end_life(struct cpi_pool *pool, uintptr_t index, const char *function)
{
    enum cpi_slotmap_state state = cpi_slotmap_state(&pool->slotmap, index);

    /* The bytes around a slot are looked at while it is live, and it stays so if they were
     * overwritten. */
    if (state == CPI_SLOTMAP_LIVE_ONE && pool->checked &&
        cpi_guard_verify(&pool->slab, index) != CPI_GUARD_GOOD) {
        cpi_pool_report_slot(CPOOL_EGUARD, function, pool, index);
        return false;
    }
    if (state == CPI_SLOTMAP_LIVE_ONE)
        state = cpi_slotmap_give(&pool->slotmap, index);
    if (state == CPI_SLOTMAP_LIVE_ONE)
        return true;
    report_not_live(pool, index, state, function);
    return false;
}

bool cpi_pool_mark_given(struct cpi_pool *pool, void *slot, const char *function, const void *site)
{
    uintptr_t index = cpi_slab_index(&pool->slab, slot);

    if (has_words(pool) && !end_life(pool, index, function))
        return false;
    if (pool->checked)
        cpi_guard_set_site(&pool->slab, index, site);
    cpi_tools_given(pool->tools, pool, slot, pool->slab.slot_size);
    return true;
}

void cpi_pool_mark_all_free(struct cpi_pool *pool, const char *function)
{
    uintptr_t fresh = has_words(pool) ? cpi_slab_fresh(&pool->slab) : 0;
    uintptr_t index;

    for (index = 0; index < fresh; index++) {
        enum cpi_guard_finding finding = CPI_GUARD_GOOD;

        if (pool->checked && cpi_guard_is_filled(&pool->slab, index))
            finding = cpi_guard_verify(&pool->slab, index);
        cpi_slotmap_clear(&pool->slotmap, index);
        if (finding != CPI_GUARD_GOOD)
            cpi_pool_report_slot(CPOOL_EGUARD, function, pool, index);
    }
}
