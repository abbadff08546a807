/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handle.c - which descriptors have a pool.
 *
 * A descriptor that waits for its next pool leads to the one that waits behind it,
 * by its `base`.
 */
#include "handle.h"

struct cpi_handles cpi_handles;

/* Programs built earlier rely on these.  A change here changes the number in
 * cpool_thread_word_abi2's name. */
_Static_assert(offsetof(cpool_t, base) == 0 * sizeof(uintptr_t), "frozen");
_Static_assert(offsetof(cpool_t, inverse) == 1 * sizeof(uintptr_t), "frozen");
_Static_assert(offsetof(cpool_t, shift) == 2 * sizeof(uintptr_t), "frozen");
_Static_assert(offsetof(cpool_t, state) == 3 * sizeof(uintptr_t), "frozen");
_Static_assert(offsetof(cpool_cache_t, count) == 0 * sizeof(uintptr_t), "frozen");
_Static_assert(offsetof(cpool_cache_t, limit) == 1 * sizeof(uintptr_t), "frozen");
_Static_assert(offsetof(cpool_cache_t, rounds) == 2 * sizeof(uintptr_t), "frozen");
_Static_assert(offsetof(cpool_cache_t, bound) == 3 * sizeof(uintptr_t), "frozen");
_Static_assert(offsetof(cpool_cache_t, pool) == 4 * sizeof(uintptr_t), "frozen");
_Static_assert(offsetof(cpool_cache_t, home) == 5 * sizeof(uintptr_t), "frozen");
_Static_assert(sizeof(cpool_cache_t) == 8 * sizeof(uintptr_t), "frozen");
_Static_assert(sizeof(cpool_t) == sizeof(cpool_cache_t), "one word leads from all to all");

static size_t made = 1; /* descriptors that have ever been used, and the one of none */

/* Descriptors of destroyed pools, the one that has waited longest first. */
static struct {
    cpool_t *first;
    cpool_t *last;
    size_t count;
} waiting;

static cpool_t *take_waiting(void)
{
    cpool_t *handle = waiting.first;

    if (handle != NULL) {
        waiting.first = (cpool_t *)handle->base;
        waiting.count--;
    }
    return handle;
}

cpool_t *cpi_handle_take(void)
{
    if (waiting.count <= CPI_HANDLES_KEPT && made < CPI_HANDLES)
        return &cpi_handles.handles[made++];
    return take_waiting();
}

void cpi_handle_give(cpool_t *handle)
{
    handle->state = NULL;
    handle->base = 0;
    if (waiting.count++ == 0)
        waiting.first = handle;
    else
        waiting.last->base = (uintptr_t)handle;
    waiting.last = handle;
}
