/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_layer.c - what layers above a pool ask of it.
 *
 * ORDERING TABLE
 *   count | growths fetch-and-add | relaxed | - | -
 *   show  | layer's owner store | release | owner | the owner
 *   owner | layer's owner load  | acquire | show  | the owner
 */
#include "pool/layer.h"

#include "pool/pool_create.h"
#include "pool/pool_info.h"
#include "pool/pool_report.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "host/os.h"
#include "host/thread.h"

/* Takes the next fresh slot and raises the capacity by one.  False if the bounds have
 * changed, or the operating system refuses memory, which *refused tells apart. */
static bool extend(struct cpi_pool *pool, uint64_t bounds, bool *refused)
{
    uintptr_t fresh = CPI_BOUNDS_FRESH(bounds);

    *refused = !cpi_depot_provide(&pool->depot, fresh + 1) ||
               !cpi_slab_provide(&pool->slab, fresh + 1);
    if (*refused || !cpi_slab_extend(&pool->slab, bounds))
        return false;
    if (pool->slab.bumped != NULL)
        pool->slab.bumped(&pool->slab, fresh, 1);
    cpi_fetch_add(&pool->maintenance.growths, 1u, relaxed); /* [count] */
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

void *cpi_layer_fresh(cpool_t *handle)
{
    static const char function[] = "cpi_layer_fresh";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    const struct cpi_call call = CPI_CALL(function);
    void *slot;

    if (pool == NULL)
        return NULL;
    do {
        struct cpi_uncached *uncached = cpi_place_enter(&pool->registry.places);
        uintptr_t index;

        slot = take_fresh(pool, &index) ? cpi_slab_slot(&pool->slab, index) : NULL;
        cpi_place_leave(&pool->registry.places, uncached);
    } while (slot != NULL && !cpi_pool_passes(pool, slot, call));
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

size_t cpi_layer_discard(cpool_t *handle, void *first, size_t n)
{
    static const char function[] = "cpi_layer_discard";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    uintptr_t from, to;
    const char *last;
    uint64_t calls = 0;
    size_t resident;

    if (pool == NULL || n == 0)
        return 0;
    last = last_of(pool, first, n, function);
    if (last == NULL || !pool->region_owned || pool->checked)
        return 0;
    from = cpi_align_up((uintptr_t)first, pool->slab.extent.page);
    to = cpi_align_down((uintptr_t)last + pool->slab.stride, pool->slab.extent.page);
    if (from >= to)
        return 0;
    resident = cpi_os_resident((void *)from, to - from, &calls);
    resident = cpi_os_purge((void *)from, to - from) ? resident : 0;
    cpi_pool_note_calls(pool, calls + 1);
    return resident;
}

/* --- The layer --- */

int cpi_layer_create(cpool_t **pool, const cpool_config_t *config, unsigned kind)
{
    *pool = NULL;
    return cpi_pool_create(pool, config, kind);
}

void cpi_layer_own(cpool_t *handle, void *owner)
{
    struct cpi_pool *pool = handle->state;

    cpi_store(&pool->layer.owner, owner, release); /* [show] */
}

void cpi_layer_figures(const cpool_t *handle, cpool_stats_t *stats)
{
    cpi_pool_figures(handle->state, stats);
}

bool cpi_layer_is_checked(const cpool_t *handle)
{
    const struct cpi_pool *pool = handle->state;

    return pool->checked;
}

cpool_t *cpi_layer_face(const cpool_t *handle)
{
    const struct cpi_pool *pool = handle->state;

    return pool->face;
}

void *cpi_layer_owner(const cpool_t *face, unsigned kind)
{
    const struct cpi_pool *pool = cpi_layer_pool(face);

    return pool != NULL && pool->layer.kind == kind
               ? cpi_load(&pool->layer.owner, acquire) /* [owner] */
               : NULL;
}

bool cpi_layer_take_handles(struct cpi_pool *pool)
{
    pool->handle = cpi_handle_take(CPI_HANDLE_POOL);
    pool->face = pool->handle;
    if (pool->handle == NULL || pool->layer.kind == 0)
        return pool->handle != NULL;
    pool->face = cpi_handle_take(CPI_HANDLE_POOL);
    if (pool->face == NULL)
        cpi_handle_give(pool->handle, CPI_HANDLE_POOL);
    return pool->face != NULL;
}

void cpi_layer_give_handles(const struct cpi_pool *pool)
{
    if (pool->face != pool->handle)
        cpi_handle_give(pool->face, CPI_HANDLE_POOL);
    cpi_handle_give(pool->handle, CPI_HANDLE_POOL);
}

void cpi_layer_open_handles(struct cpi_pool *pool)
{
    cpool_t shape = {pool->slab.base, pool->slab.inverse, pool->slab.shift, pool,
                     pool->slab.slots, 0, {0}};

    if (pool->face == pool->handle) {
        cpi_handle_open(pool->handle, &shape);
        return;
    }
    shape.slots = 0;
    cpi_handle_open(pool->handle, &shape);
    shape.slots = pool->slab.slots;
    shape.state = NULL;
    cpi_handle_set_behind(pool->face, (uintptr_t)pool);
    cpi_handle_open(pool->face, &shape);
}

uint64_t cpi_pool_next_number(void)
{
    static uint64_t created; /* guarded by the lock */

    return created++;
}
