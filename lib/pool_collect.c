/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_collect.c - taking all of the depot's slots for a while.
 */
#include "pool_collect.h"

#include <string.h>

#include "os.h"

/* Bytes of slots that are prepared and given back at a time: others wait for one
 * portion, not for all. */
#define CPI_PORTION ((size_t)4 * 1024 * 1024)

#define CPI_WORD_BITS 64u

/* --- The bitmap --- */

static bool is_set(const uint64_t *bitmap, uintptr_t index)
{
    return (bitmap[index / CPI_WORD_BITS] >> index % CPI_WORD_BITS & 1u) != 0;
}

static void set(uint64_t *bitmap, uintptr_t index)
{
    bitmap[index / CPI_WORD_BITS] |= (uint64_t)1 << index % CPI_WORD_BITS;
}

/* The largest number not above this one such that the slot below it is marked, or
 * is not; 0 if there is none. */
static uintptr_t find_down(const uint64_t *marks, uintptr_t above, bool marked)
{
    const uint64_t other = marked ? 0 : UINT64_MAX;

    while (above > 0) {
        if (above % CPI_WORD_BITS == 0 && marks[above / CPI_WORD_BITS - 1] == other)
            above -= CPI_WORD_BITS;
        else if (is_set(marks, above - 1) == marked)
            break;
        else
            above--;
    }
    return above;
}

static unsigned count_bits(uint64_t word)
{
    unsigned count = 0;

    for (; word != 0; word &= word - 1)
        count++;
    return count;
}

uintptr_t cpi_collection_lowest(const struct cpi_collection *collection, uintptr_t n)
{
    const uint64_t *marks = collection->marks;
    uintptr_t above = 0;
    unsigned count;

    while ((count = count_bits(marks[above / CPI_WORD_BITS])) < n) {
        n -= count;
        above += CPI_WORD_BITS;
    }
    while (n > 0)
        n -= is_set(marks, above++) ? 1 : 0;
    return above;
}

/* --- Taking --- */

/* A slot that turned up twice was freed twice; one above the watermark was removed
 * by a shrink, and freed by a thread that had not noticed.  Either was for the
 * caller not to do, and is no slot more. */
CPI_COLD static void note_wrong(struct cpi_collection *collection, uintptr_t index)
{
    if (collection->wrong == NULL)
        collection->wrong = cpi_os_map(collection->size);
    if (collection->wrong != NULL)
        set(collection->wrong, index);
}

static void mark(struct cpi_collection *collection, uintptr_t index, uintptr_t fresh)
{
    if (CPI_UNLIKELY(index >= fresh || is_set(collection->marks, index))) {
        note_wrong(collection, index);
        return;
    }
    set(collection->marks, index);
    collection->marked++;
}

static void empty_magazine(struct cpi_collection *collection, uint32_t node)
{
    cpool_t *pool = collection->pool;
    struct cpi_magazine *magazine = cpi_depot_magazine(&pool->depot, node);
    uint32_t count = cpi_magazine_count(magazine);
    uintptr_t fresh = cpi_slab_fresh(&pool->slab);
    uint32_t i;

    for (i = 0; i < count; i++)
        mark(collection, cpi_slab_index(&pool->slab, magazine->rounds[i]), fresh);
    cpi_magazine_set_count(magazine, 0);
    if (collection->held * pool->depot.limit >= collection->marked) {
        cpi_depot_give(&pool->depot, &collection->visitor->counters, node);
        return;
    }
    cpi_tagstack_push(&collection->magazines, &pool->depot.links, node);
    collection->held++;
}

void cpi_collection_go_on(struct cpi_collection *collection)
{
    cpool_t *pool = collection->pool;
    uint32_t node;

    while ((node = cpi_depot_take_stocked(&pool->depot, &collection->visitor->counters)) != 0 ||
           (node = cpi_depot_take_remnant(&pool->depot, &collection->visitor->counters)) != 0)
        empty_magazine(collection, node);
    collection->slots = cpi_slab_fresh(&pool->slab);
}

bool cpi_collection_begin(struct cpi_collection *collection, cpool_t *pool)
{
    memset(collection, 0, sizeof *collection);
    collection->pool = pool;
    /* Slots claimed and freed by others meanwhile may turn up, too. */
    collection->size = (pool->slab.slots / CPI_WORD_BITS + 1) * sizeof(uint64_t);
    collection->marks = cpi_os_map(collection->size);
    if (collection->marks == NULL)
        return false;
    cpi_lock();
    collection->visitor = cpi_roster_enter(&pool->roster);
    cpi_depot_begin_collection(&pool->depot);
    cpi_collection_go_on(collection);
    return true;
}

uintptr_t cpi_collection_top(const struct cpi_collection *collection, uintptr_t most)
{
    uintptr_t end = collection->slots;
    uintptr_t run = end - find_down(collection->marks, end, false);

    if (run == end && run > 0)
        run--;
    return run < most ? run : most;
}

void cpi_collection_keep(struct cpi_collection *collection, uintptr_t left)
{
    collection->marked -= collection->slots - left;
    collection->slots = left;
}

/* --- Giving back --- */

/* Starts to fill the next of the emptied magazines.  Only the first, which then has
 * the highest slots, may be less than full. */
static void begin_filling(struct cpi_collection *collection)
{
    struct cpi_depot *depot = &collection->pool->depot;
    uint32_t odd = (uint32_t)(collection->marked % depot->limit);
    uint64_t retries = 0;

    collection->filling = cpi_tagstack_pop(&collection->magazines, &depot->links, &retries);
    collection->rounds = odd != 0 ? odd : depot->limit;
    collection->count = 0;
}

static void give(struct cpi_collection *collection, uintptr_t index)
{
    cpool_t *pool = collection->pool;
    struct cpi_magazine *magazine;

    if (collection->filling == 0)
        begin_filling(collection);
    magazine = cpi_depot_magazine(&pool->depot, collection->filling);
    magazine->rounds[collection->count++] = cpi_slab_slot(&pool->slab, index);
    if (collection->count == collection->rounds) {
        cpi_magazine_set_count(magazine, collection->rounds);
        collection->marked -= collection->rounds;
        cpi_depot_give(&pool->depot, &collection->visitor->counters, collection->filling);
        collection->filling = 0;
    }
}

/* Does the marked slots below `above`, portion by portion from the top. */
static void do_portions(struct cpi_collection *collection, uintptr_t above, cpi_prepare *prepare,
                        void *context, bool gives)
{
    cpool_t *pool = collection->pool;
    uintptr_t portion = CPI_PORTION / pool->slab.stride + 1;
    uintptr_t end;

    while ((end = find_down(collection->marks, above, true)) > 0) {
        uintptr_t bottom = find_down(collection->marks, end, false);

        while (end > bottom) {
            uintptr_t first = end - bottom > portion ? end - portion : bottom;

            if (prepare != NULL)
                prepare(context, pool, bottom, first, end);
            for (; gives && end > first; end--)
                give(collection, end - 1);
            end = first;
        }
        above = bottom;
    }
}

void cpi_collection_end(struct cpi_collection *collection, cpi_prepare *prepare, void *context)
{
    cpool_t *pool = collection->pool;

    do_portions(collection, collection->slots, prepare, context, true);
    while (cpi_tagstack_top(&collection->magazines) != 0) {
        begin_filling(collection);
        cpi_depot_give(&pool->depot, &collection->visitor->counters, collection->filling);
    }
    cpi_depot_end_collection(&pool->depot);
    cpi_roster_leave(collection->visitor);
    cpi_unlock();
}

void cpi_collection_visit(struct cpi_collection *collection, uintptr_t above,
                          cpi_prepare *prepare, void *context)
{
    do_portions(collection, above, prepare, context, false);
}

/* --- Afterwards --- */

CPI_COLD static void report_wrong(const struct cpi_collection *collection, const char *function)
{
    uintptr_t above = collection->pool->slab.slots;

    while ((above = find_down(collection->wrong, above, true)) > 0) {
        above--;
        cpi_pool_report_slot(is_set(collection->marks, above) ? CPOOL_EDOUBLEFREE : CPOOL_EUNUSED,
                             function, collection->pool, above);
    }
}

void cpi_collection_close(struct cpi_collection *collection, const char *function)
{
    if (CPI_UNLIKELY(collection->wrong != NULL)) {
        report_wrong(collection, function);
        cpi_os_release(collection->wrong, collection->size);
    }
    cpi_os_release(collection->marks, collection->size);
}
