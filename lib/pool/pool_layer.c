/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_layer.c - what layers above a pool ask of it.
 *
 * Floor 6.
 *
 * ORDERING TABLE
 *   count | growths fetch-and-add | relaxed | - | -
 *   data  | layer's data store, load | relaxed | - | -
 *   key   | layer's key store | release | find | the data
 *   find  | layer's key load  | acquire | key  | the data
 */
#include <cpool/layer.h>

#include "pool_impl.h"

#include "atomic.h"
#include "bits.h"
#include "os.h"
#include "quiet.h"
#include "thread.h"

/* Takes the next fresh slot and raises the capacity by one.  False if the bounds have
 * changed, or the operating system refuses memory, which *refused tells apart. */
static bool extend(struct cpi_pool *pool, uint64_t bounds, bool *refused)
{
    uintptr_t fresh = CPI_BOUNDS_FRESH(bounds);

    *refused = !cpi_depot_provide(&pool->depot, fresh + 1) ||
               !cpi_slab_provide(&pool->slab, fresh + 1);
    if (*refused || !cpi_slab_extend(&pool->slab, bounds))
        return false;
    if (pool->slab.sides[CPI_SIDE_RECORDS].size != 0)
        cpi_guard_bumped(&pool->slab, fresh, 1);
    cpi_fetch_add(&pool->maintenance.growths, 1u, relaxed); /* [count] */
    cpi_quiet_note(CPI_NOISE_GROWTH, 1);
    cpi_quiet_note(CPI_NOISE_FRESH, 1);
    return true;
}

static bool take_fresh(struct cpi_pool *pool, uintptr_t *index)
{
    bool refused = false;

    while (!refused) {
        uint64_t bounds = cpi_slab_bounds(&pool->slab);
        uintptr_t capacity = CPI_BOUNDS_CAPACITY(bounds);

        *index = CPI_BOUNDS_FRESH(bounds);
        if (*index < capacity) {
            if (cpi_cache_bump(&pool->slab, &pool->depot, 1, 0, index) == 1)
                return true;
            refused = cpi_slab_bounds(&pool->slab) == bounds;
        } else if (capacity == pool->slab.most || *index == pool->slab.slots) {
            return false;
        } else if (extend(pool, bounds, &refused)) {
            return true;
        }
    }
    return false;
}

void *cpool_alloc_fresh(cpool_t *handle)
{
    static const char function[] = "cpool_alloc_fresh";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    const void *site = CPI_CALLER();
    void *slot;

    if (pool == NULL)
        return NULL;
    do {
        struct cpi_uncached *uncached = cpi_registry_enter(&pool->registry);
        uintptr_t index;

        slot = take_fresh(pool, &index) ? cpi_slab_slot(&pool->slab, index) : NULL;
        cpi_registry_leave(&pool->registry, uncached);
    } while (slot != NULL && CPI_UNLIKELY(pool->marks) &&
             !cpi_pool_mark_taken(pool, &slot, function, site));
    cpi_quiet_report(function);
    return slot;
}

/* The last slot of the n, or NULL after a report. */
static const char *last_of(struct cpi_pool *pool, const void *first, size_t n,
                           const char *function)
{
    uintptr_t index;
    const char *last;

    if (!cpi_pool_validate(pool, first, function))
        return NULL;
    index = cpi_slab_index(&pool->slab, first);
    last = n - 1 < pool->slab.slots - index
               ? cpi_slab_slot(&pool->slab, index + n - 1)
               : (const char *)cpi_slab_slot(&pool->slab, pool->slab.slots);
    return cpi_pool_validate(pool, last, function) ? last : NULL;
}

size_t cpool_discard(cpool_t *handle, void *first, size_t n)
{
    static const char function[] = "cpool_discard";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    uintptr_t from, to;
    const char *last;
    size_t resident;

    if (pool == NULL || n == 0 || pool->fake != NULL)
        return 0;
    last = last_of(pool, first, n, function);
    if (last == NULL || !pool->region_owned || pool->checked)
        return 0;
    from = cpi_align_up((uintptr_t)first, pool->slab.extent.page);
    to = cpi_align_down((uintptr_t)last + pool->slab.stride, pool->slab.extent.page);
    if (from >= to)
        return 0;
    resident = cpi_os_resident((void *)from, to - from);
    resident = cpi_os_purge((void *)from, to - from) ? resident : 0;
    /* With the lock held by a layer above, the handler has to wait for that one's report. */
    if (!cpi_lock_is_held())
        cpi_quiet_report(function);
    return resident;
}

bool cpool_has_free(const cpool_t *handle)
{
    const struct cpi_pool *pool = cpi_pool_of(handle, "cpool_has_free");

    return pool != NULL && cpi_pool_has_any(pool);
}

void cpool_set_layer(cpool_t *handle, const void *key, void *data)
{
    struct cpi_pool *pool = cpi_pool_of(handle, "cpool_set_layer");

    if (pool == NULL)
        return;
    cpi_store(&pool->layer.data, data, relaxed); /* [data] */
    cpi_store(&pool->layer.key, data != NULL ? key : NULL, release); /* [key] */
}

void *cpool_layer(const cpool_t *handle, const void *key)
{
    const struct cpi_pool *pool = cpi_pool_of(handle, "cpool_layer");

    if (pool == NULL || key == NULL || cpi_load(&pool->layer.key, acquire) != key) /* [find] */
        return NULL;
    return cpi_load(&pool->layer.data, relaxed); /* [data] */
}
