/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drain.c - taking all of the depot's slots for a while.
 */
#include "pool/drain.h"
#include "pool/alloc.h"
#include "pool/report.h"

#include <string.h>

#include "base/bits.h"
#include "host/os.h"

/* Bytes of slots that are prepared and given back at a time: others wait for one
 * portion, not for all. */
#define CPI_PORTION ((size_t)4 * 1024 * 1024)

/* --- Taking --- */

static uint64_t *map_bits(struct cpi_drain *drain)
{
    cpi_pool_note_calls(drain->pool, 1);
    return cpi_os_map(drain->size);
}

static void unmap_bits(struct cpi_drain *drain, uint64_t *bits)
{
    cpi_pool_note_calls(drain->pool, 1);
    cpi_os_release(bits, drain->size);
}

/* A slot that turned up twice was freed twice.  One above the watermark was removed by
 * a shrink, and freed by a thread that had not noticed.  Either was for the caller not
 * to do, and is no slot more. */
CPI_COLD static void note_wrong(struct cpi_drain *drain, uintptr_t index)
{
    if (drain->wrong == NULL)
        drain->wrong = map_bits(drain);
    if (drain->wrong != NULL)
        cpi_bitmap_set(drain->wrong, index);
}

static void mark_slot(struct cpi_drain *drain, uintptr_t index, uintptr_t fresh)
{
    if (CPI_UNLIKELY(index >= fresh || cpi_bitmap_is_set(drain->marks, index))) {
        note_wrong(drain, index);
        return;
    }
    cpi_bitmap_set(drain->marks, index);
    drain->marked++;
}

static void empty_magazine(struct cpi_drain *drain, uint32_t node)
{
    struct cpi_pool *pool = drain->pool;
    struct cpi_magazine *magazine = cpi_depot_magazine(&pool->depot, node);
    uint32_t count = cpi_magazine_count(magazine);
    uintptr_t fresh = cpi_slab_fresh(&pool->slab);

    for (uint32_t i = 0; i < count; i++)
        mark_slot(drain, cpi_slab_index(&pool->slab, magazine->rounds[i]), fresh);
    cpi_magazine_set_count(magazine, 0);
    if (drain->held * pool->depot.limit >= drain->marked) {
        cpi_depot_give(&pool->depot, &drain->uncached.counters, node);
        return;
    }
    cpi_tagstack_push(&drain->magazines, &pool->depot.links, node);
    drain->held++;
}

void cpi_drain_go_on(struct cpi_drain *drain)
{
    struct cpi_pool *pool = drain->pool;
    uint32_t node;

    CPI_ASSERT(cpi_lock_is_held() && cpi_depot_drains(&pool->depot) % 2 != 0);
    while ((node = cpi_depot_take_stocked(&pool->depot, &drain->uncached.counters)) != 0 ||
           (node = cpi_depot_take_partial(&pool->depot, &drain->uncached.counters)) != 0)
        empty_magazine(drain, node);
    drain->slots = cpi_slab_fresh(&pool->slab);
}

/* The lock is given up while too many operations are in flight, because one of them may be in a
 * function of the program's that takes it. */
static void enter_slot(struct cpi_drain *drain)
{
    unsigned times = 0;

    while (!cpi_depot_try_enter(&drain->pool->depot, &drain->uncached)) {
        cpi_unlock();
        cpi_os_back_off(times++);
        cpi_lock();
    }
}

bool cpi_drain_begin(struct cpi_drain *drain, struct cpi_pool *pool)
{
    memset(drain, 0, sizeof *drain);
    drain->pool = pool;
    /* Slots taken and freed by others meanwhile may turn up, too. */
    drain->size = (pool->slab.slots / CPI_WORD_BITS + 1) * sizeof(uint64_t);
    drain->marks = map_bits(drain);
    if (drain->marks == NULL)
        return false;
    cpi_lock();
    enter_slot(drain);
    cpi_depot_begin_drain(&pool->depot);
    cpi_drain_go_on(drain);
    return true;
}

uintptr_t cpi_drain_top(const struct cpi_drain *drain, uintptr_t most)
{
    uintptr_t end = drain->slots;
    uintptr_t run = end - cpi_bitmap_find_down(drain->marks, end, false);

    if (run == end && run > 0)
        run--;
    return run < most ? run : most;
}

void cpi_drain_keep(struct cpi_drain *drain, uintptr_t left)
{
    CPI_ASSERT(left <= drain->slots && drain->slots - left <= drain->marked);
    drain->marked -= drain->slots - left;
    drain->slots = left;
}

/* --- Giving back --- */

/* Starts to fill the next of the emptied magazines.  Only the first, which then has
 * the highest slots, may be less than full. */
static void begin_filling(struct cpi_drain *drain)
{
    struct cpi_depot *depot = &drain->pool->depot;
    uint32_t odd = (uint32_t)(drain->marked % depot->limit);
    uint64_t retries = 0;

    drain->filling = cpi_tagstack_pop(&drain->magazines, &depot->links, &retries);
    drain->rounds = odd != 0 ? odd : depot->limit;
    drain->count = 0;
}

static void give_marked(struct cpi_drain *drain, uintptr_t index)
{
    struct cpi_pool *pool = drain->pool;
    struct cpi_magazine *magazine;

    if (drain->filling == 0)
        begin_filling(drain);
    magazine = cpi_depot_magazine(&pool->depot, drain->filling);
    CPI_ASSERT(drain->filling != 0 && drain->count < drain->rounds);
    magazine->rounds[drain->count++] = cpi_slab_slot(&pool->slab, index);
    if (drain->count == drain->rounds) {
        cpi_magazine_set_count(magazine, drain->rounds);
        drain->marked -= drain->rounds;
        cpi_depot_give(&pool->depot, &drain->uncached.counters, drain->filling);
        drain->filling = 0;
    }
}

/* Gives the marked slots back, portion by portion from the top. */
static void give_portions(struct cpi_drain *drain, cpi_prepare *prepare, void *context)
{
    struct cpi_pool *pool = drain->pool;
    uintptr_t portion = CPI_PORTION / pool->slab.stride + 1;
    uintptr_t above = drain->slots;
    uintptr_t end;

    while ((end = cpi_bitmap_find_down(drain->marks, above, true)) > 0) {
        uintptr_t bottom = cpi_bitmap_find_down(drain->marks, end, false);

        while (end > bottom) {
            uintptr_t first = end - bottom > portion ? end - portion : bottom;

            if (prepare != NULL)
                prepare(context, pool, bottom, first, end);
            for (; end > first; end--)
                give_marked(drain, end - 1);
        }
        above = bottom;
    }
}

void cpi_drain_end(struct cpi_drain *drain, cpi_prepare *prepare, void *context)
{
    struct cpi_pool *pool = drain->pool;

    give_portions(drain, prepare, context);
    CPI_ASSERT(drain->marked == 0 && drain->filling == 0);
    while (cpi_tagstack_top(&drain->magazines) != 0) {
        begin_filling(drain);
        cpi_depot_give(&pool->depot, &drain->uncached.counters, drain->filling);
    }
    CPI_ASSERT(cpi_lock_is_held());
    cpi_depot_end_drain(&pool->depot);
    cpi_depot_leave(&pool->depot, &drain->uncached);
    cpi_unlock();
}

/* --- Afterwards --- */

CPI_COLD static void report_wrong(const struct cpi_drain *drain, const char *function)
{
    uintptr_t above = drain->pool->slab.slots;

    while ((above = cpi_bitmap_find_down(drain->wrong, above, true)) > 0) {
        above--;
        cpi_pool_report_slot(
            cpi_bitmap_is_set(drain->marks, above) ? CPOOL_EDOUBLEFREE : CPOOL_EUNUSED, function,
            drain->pool, above);
    }
}

void cpi_drain_close(struct cpi_drain *drain, const char *function)
{
    if (CPI_UNLIKELY(drain->wrong != NULL)) {
        report_wrong(drain, function);
        unmap_bits(drain, drain->wrong);
    }
    unmap_bits(drain, drain->marks);
}
