/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_heap.h - a binary heap of indices, in which each index knows its place.
 *
 *   entries   | -  | key, 7 | key, 2 | key, 9 | ...    from 1 on: the entry at i is not
 *                      1        2        3             above those at 2i and 2i + 1
 *   places    | 0 | 0 | 2 | ...  | 1 | ...             of each index, or 0
 *
 * One thread at a time uses a heap.  Adding, removing and changing take O(log n) steps.
 */
#ifndef CPI_OBJECT_HEAP_H
#define CPI_OBJECT_HEAP_H

#include <stdlib.h>
#include <string.h>

#include "common.h"

/* Keys are compared by their number first, then by their turn. */
struct cpi_heap_key {
    int64_t number;
    uint64_t turn;
};

struct cpi_heap_entry {
    struct cpi_heap_key key;
    uintptr_t index;
};

struct cpi_heap {
    struct cpi_heap_entry *entries;
    uint32_t *places;
    uintptr_t count;
};

static inline void cpi_heap_fini(struct cpi_heap *heap)
{
    free(heap->entries);
    free(heap->places);
}

/* A heap for indices below `max`, which is below 2^32.  Without memory false: fini cleans up. */
static inline bool cpi_heap_init(struct cpi_heap *heap, size_t max)
{
    heap->entries = calloc(max + 1, sizeof *heap->entries);
    heap->places = calloc(max, sizeof *heap->places);
    heap->count = 0;
    return heap->entries != NULL && heap->places != NULL;
}

/* Takes all indices out.  The heap may be halfway through a change. */
static inline void cpi_heap_clear(struct cpi_heap *heap, size_t max)
{
    memset(heap->places, 0, max * sizeof *heap->places);
    heap->count = 0;
}

/* Whether the index is in the heap. */
static inline bool cpi_heap_has(const struct cpi_heap *heap, uintptr_t index)
{
    return heap->places[index] != 0;
}

static inline bool cpi_heap_is_below(const struct cpi_heap_key *a, const struct cpi_heap_key *b)
{
    return a->number != b->number ? a->number < b->number : a->turn < b->turn;
}

static inline void cpi_heap_place(struct cpi_heap *heap, uintptr_t at, struct cpi_heap_entry entry)
{
    heap->entries[at] = entry;
    heap->places[entry.index] = (uint32_t)at;
}

/* Finds the place for an entry, from a free one upwards and from there downwards. */
static inline void cpi_heap_settle(struct cpi_heap *heap, uintptr_t at, struct cpi_heap_entry entry)
{
    while (at > 1 && cpi_heap_is_below(&entry.key, &heap->entries[at / 2].key)) {
        cpi_heap_place(heap, at, heap->entries[at / 2]);
        at /= 2;
    }
    for (;;) {
        uintptr_t child = 2 * at;

        if (child < heap->count &&
            cpi_heap_is_below(&heap->entries[child + 1].key, &heap->entries[child].key))
            child++;
        if (child > heap->count || !cpi_heap_is_below(&heap->entries[child].key, &entry.key))
            break;
        cpi_heap_place(heap, at, heap->entries[child]);
        at = child;
    }
    cpi_heap_place(heap, at, entry);
}

/* Puts an index in that is not there. */
static inline void cpi_heap_add(struct cpi_heap *heap, uintptr_t index, struct cpi_heap_key key)
{
    CPI_ASSERT(!cpi_heap_has(heap, index));
    heap->count++;
    cpi_heap_settle(heap, heap->count, (struct cpi_heap_entry){key, index});
}

/* Takes an index out that is there, or gives it another key. */
static inline void cpi_heap_remove(struct cpi_heap *heap, uintptr_t index)
{
    uintptr_t at = heap->places[index];
    struct cpi_heap_entry last = heap->entries[heap->count];

    CPI_ASSERT(cpi_heap_has(heap, index));
    heap->places[index] = 0;
    heap->count--;
    if (last.index != index)
        cpi_heap_settle(heap, at, last);
}

static inline void cpi_heap_change(struct cpi_heap *heap, uintptr_t index, struct cpi_heap_key key)
{
    CPI_ASSERT(cpi_heap_has(heap, index));
    cpi_heap_settle(heap, heap->places[index], (struct cpi_heap_entry){key, index});
}

/* The entry with the lowest key, or NULL. */
static inline const struct cpi_heap_entry *cpi_heap_least(const struct cpi_heap *heap)
{
    return heap->count > 0 ? &heap->entries[1] : NULL;
}

#endif /* CPI_OBJECT_HEAP_H */
