/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_handles.c - the descriptors of a pool: two, if a layer has made it (descriptor.h).
 */
#include "pool/layer.h"
#include "pool/create.h"

bool cpi_layer_take_handles(struct cpi_pool *pool)
{
    pool->handle = cpi_handle_take();
    pool->face = pool->handle;
    if (pool->handle == NULL || pool->layer.kind == 0)
        return pool->handle != NULL;
    pool->face = cpi_handle_take();
    if (pool->face == NULL)
        cpi_handle_give(pool->handle);
    return pool->face != NULL;
}

void cpi_layer_give_handles(const struct cpi_pool *pool)
{
    if (pool->face != pool->handle)
        cpi_handle_give(pool->face);
    cpi_handle_give(pool->handle);
}

void cpi_layer_open_handles(struct cpi_pool *pool)
{
    cpool_t shape = {.base = pool->slab.base, .inverse = pool->slab.inverse,
                     .shift = pool->slab.shift, .state = pool, .slots = pool->slab.slots,
                     .stride = pool->slab.stride};

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
