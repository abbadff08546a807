/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_heap.c - a binary heap of indices.
 */
#include "priority/object_heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

bool cpi_heap_init(struct cpi_heap *heap, size_t max)
{
    heap->entries = calloc(max + 1, sizeof *heap->entries);
    heap->places = calloc(max, sizeof *heap->places);
    heap->count = 0;
    if (heap->entries != NULL && heap->places != NULL)
        return true;
    cpi_heap_fini(heap);
    return false;
}

void cpi_heap_fini(struct cpi_heap *heap)
{
    free(heap->entries);
    free(heap->places);
    heap->entries = NULL;
    heap->places = NULL;
}

void cpi_heap_clear(struct cpi_heap *heap, size_t max)
{
    memset(heap->places, 0, max * sizeof *heap->places);
    heap->count = 0;
}

static bool is_below(const struct cpi_heap_key *a, const struct cpi_heap_key *b)
{
    return a->number != b->number ? a->number < b->number : a->turn < b->turn;
}

static void place(struct cpi_heap *heap, uintptr_t at, struct cpi_heap_entry entry)
{
    heap->entries[at] = entry;
    heap->places[entry.index] = (uint32_t)at;
}

/* Finds the place for an entry, from a free one upwards and from there downwards. */
static void settle(struct cpi_heap *heap, uintptr_t at, struct cpi_heap_entry entry)
{
    while (at > 1 && is_below(&entry.key, &heap->entries[at / 2].key)) {
        place(heap, at, heap->entries[at / 2]);
        at /= 2;
    }
    for (;;) {
        uintptr_t child = 2 * at;

        if (child < heap->count &&
            is_below(&heap->entries[child + 1].key, &heap->entries[child].key))
            child++;
        if (child > heap->count || !is_below(&heap->entries[child].key, &entry.key))
            break;
        place(heap, at, heap->entries[child]);
        at = child;
    }
    place(heap, at, entry);
}

void cpi_heap_add(struct cpi_heap *heap, uintptr_t index, struct cpi_heap_key key)
{
    CPI_ASSERT(!cpi_heap_has(heap, index));
    heap->count++;
    settle(heap, heap->count, (struct cpi_heap_entry){key, index});
}

void cpi_heap_remove(struct cpi_heap *heap, uintptr_t index)
{
    uintptr_t at = heap->places[index];
    struct cpi_heap_entry last = heap->entries[heap->count];

    CPI_ASSERT(cpi_heap_has(heap, index));
    heap->places[index] = 0;
    heap->count--;
    if (last.index != index)
        settle(heap, at, last);
}

void cpi_heap_change(struct cpi_heap *heap, uintptr_t index, struct cpi_heap_key key)
{
    CPI_ASSERT(cpi_heap_has(heap, index));
    settle(heap, heap->places[index], (struct cpi_heap_entry){key, index});
}

bool cpi_heap_is_valid(const struct cpi_heap *heap)
{
    uintptr_t at;

    for (at = 1; at <= heap->count; at++) {
        if (heap->places[heap->entries[at].index] != at)
            return false;
        if (at > 1 && is_below(&heap->entries[at].key, &heap->entries[at / 2].key))
            return false;
    }
    return true;
}
