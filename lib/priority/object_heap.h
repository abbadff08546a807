/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_heap.h - a binary heap of indices, in which each index knows its place.
 *
 * Includes the compiler's headers only.
 *
 *   entries   | -  | key, 7 | key, 2 | key, 9 | ...    from 1 on: the entry at i is not
 *                      1        2        3             above those at 2i and 2i + 1
 *   places    | 0 | 0 | 2 | ...  | 1 | ...             of each index, or 0
 *
 * One thread at a time uses a heap.  Adding, removing and changing take O(log n) steps.
 */
#ifndef CPI_OBJECT_HEAP_H
#define CPI_OBJECT_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* A heap for the indices below `max`, which is below 2^32.  False if there is no memory. */
bool cpi_heap_init(struct cpi_heap *heap, size_t max);
void cpi_heap_fini(struct cpi_heap *heap);

/* Takes all indices out.  The heap may be halfway through a change. */
void cpi_heap_clear(struct cpi_heap *heap, size_t max);

/* Whether the index is in the heap. */
static inline bool cpi_heap_has(const struct cpi_heap *heap, uintptr_t index)
{
    return heap->places[index] != 0;
}

/* Puts an index in that is not there. */
void cpi_heap_add(struct cpi_heap *heap, uintptr_t index, struct cpi_heap_key key);

/* Takes an index out that is there, or gives it another key. */
void cpi_heap_remove(struct cpi_heap *heap, uintptr_t index);
void cpi_heap_change(struct cpi_heap *heap, uintptr_t index, struct cpi_heap_key key);

/* The entry with the lowest key, or NULL. */
static inline const struct cpi_heap_entry *cpi_heap_least(const struct cpi_heap *heap)
{
    return heap->count > 0 ? &heap->entries[1] : NULL;
}

/* Returns true if the order and the places are right.  For tests and assertions. */
bool cpi_heap_is_valid(const struct cpi_heap *heap);

#endif /* CPI_OBJECT_HEAP_H */
