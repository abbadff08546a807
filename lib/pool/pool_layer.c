/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_layer.c - what layers above a pool ask of it.
 *
 * ORDERING TABLE
 *   show  | layer's owner store | release | owner | the owner
 *   owner | layer's owner load  | acquire | show  | the owner
 */
#include "pool/layer.h"

#include "pool/alloc.h"
#include "pool/create.h"
#include "pool/stats.h"
#include "pool/report.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "host/os.h"
#include "process/thread.h"

void *cpi_layer_near(cpool_t *handle)
{
    const struct cpi_call call = CPI_CALL("cpi_layer_near");
    struct cpi_pool *pool = handle->state;
    struct cpi_cache *cache = cpi_registry_own_cache(&pool->registry);
    void *slot;

    if (cache != NULL)
        cpi_pool_note_exchange(pool, cache);
    do {
        slot = cpi_pool_take(pool, cache);
        cpi_pool_came(pool);
    } while (slot != NULL && !cpi_pool_passes(pool, slot, call));
    return slot;
}

void *cpi_layer_fresh(cpool_t *handle, size_t *n)
{
    const struct cpi_call call = CPI_CALL("cpi_layer_fresh");
    struct cpi_pool *pool = handle->state;
    uintptr_t beyond = pool->slab.slots - cpi_slab_capacity(&pool->slab);
    void *slot;

    if (!cpi_pool_is_plain(pool))
        *n = 1;
    do {
        struct cpi_uncached uncached;
        uintptr_t index;

        cpi_depot_enter(&pool->depot, &uncached);
        *n = cpi_cache_bump(&pool->slab, &pool->depot, *n, beyond, &index);
        slot = *n > 0 ? cpi_slab_slot(&pool->slab, index) : NULL;
        cpi_depot_leave(&pool->depot, &uncached);
    } while (slot != NULL && !cpi_pool_passes(pool, slot, call));
    return slot;
}

size_t cpi_layer_discard(cpool_t *handle, void *first, size_t n)
{
    struct cpi_pool *pool = handle->state;
    uintptr_t end = (uintptr_t)first + n * pool->slab.stride;
    uintptr_t from = cpi_align_up((uintptr_t)first, pool->slab.extent.page);
    uintptr_t to = cpi_align_down(end, pool->slab.extent.page);
    uint64_t calls = 0;
    size_t resident;
    size_t given;

    if (!pool->region_owned || pool->checked || from >= to)
        return 0;
    resident = cpi_os_resident((void *)from, to - from, &calls);
    given = cpi_os_purge((void *)from, to - from);
    cpi_pool_note_calls(pool, calls + 1);
    return resident < given ? resident : given;
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

void *cpi_layer_owner(const cpool_t *face, unsigned kind)
{
    const struct cpi_pool *pool = cpi_layer_pool(face);

    return pool != NULL && pool->layer.kind == kind
               ? cpi_load(&pool->layer.owner, acquire) /* [owner] */
               : NULL;
}
