/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_object_heap.c - the heap of indices (ext/objects/object_heap.h), alone, beside a model.
 */
#include "support.h"

#include "objects/object_heap.h"
#include "random.h"

enum { INDICES = 60 };

/* The model: a key for each index, or none. */
static struct cpi_heap_key keys[INDICES];
static bool present[INDICES];

static bool is_lower(struct cpi_heap_key a, struct cpi_heap_key b)
{
    return a.number < b.number || (a.number == b.number && a.turn < b.turn);
}

static size_t model_least(void)
{
    size_t least = INDICES;

    for (size_t i = 0; i < INDICES; i++)
        if (present[i] && (least == INDICES || is_lower(keys[i], keys[least])))
            least = i;
    return least;
}

/* Every entry is where it says, and none is below its parent. */
static bool is_valid(const struct cpi_heap *heap)
{
    for (uintptr_t at = 1; at <= heap->count; at++) {
        if (heap->places[heap->entries[at].index] != at)
            return false;
        if (at > 1 && cpi_heap_is_below(&heap->entries[at].key, &heap->entries[at / 2].key))
            return false;
    }
    return true;
}

static void require_same(const struct cpi_heap *heap)
{
    const struct cpi_heap_entry *least = cpi_heap_least(heap);

    REQUIRE(is_valid(heap));
    REQUIRE((least == NULL) == (model_least() == INDICES));
    if (least != NULL)
        REQUIRE(least->index == model_least() && least->key.turn == keys[least->index].turn);
    for (size_t i = 0; i < INDICES; i++)
        REQUIRE(cpi_heap_has(heap, i) == present[i]);
}

static void step(struct cpi_heap *heap, uint64_t *random, uint64_t turn)
{
    size_t i = random_below(random, INDICES);
    struct cpi_heap_key key = { (int64_t)random_below(random, 7) - 3, turn };

    if (!present[i]) {
        cpi_heap_add(heap, i, key);
        present[i] = true;
        keys[i] = key;
    } else if (random_once_in(random, 2)) {
        cpi_heap_change(heap, i, key);
        keys[i] = key;
    } else {
        cpi_heap_remove(heap, i);
        present[i] = false;
    }
}

TEST_TIMES(heap_used_at_random_agrees_with_a_model, 5)
{
    uint64_t random = (uint64_t)_i + 1;
    struct cpi_heap heap;

    REQUIRE(cpi_heap_init(&heap, INDICES));
    for (size_t i = 0; i < INDICES; i++)
        present[i] = false;
    for (uint64_t turn = 1; turn <= 2000; turn++) {
        step(&heap, &random, turn);
        require_same(&heap);
    }
    while (model_least() != INDICES) {
        size_t least = model_least();

        cpi_heap_remove(&heap, least);
        present[least] = false;
        require_same(&heap);
    }
    cpi_heap_fini(&heap);
}
