/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handles.c - the descriptors of a pool: its own, and the face of one that belongs to a client
 * (client.c).
 *
 * Apart from client.c, which typed pools do not reach.
 *
 * ORDERING TABLE
 *   owner | face's client store | release | the load in <cpool/client.h> | the client
 */
#include "base/atomic.h"
#include "pool/create.h"
#include "pool/pool.h"

uint64_t cpi_pool_next_number(void)
{
    static uint64_t created; /* guarded by the lock */

    return created++;
}

void cpi_client_set_owner(const struct cpi_pool *pool, const cpool_client_t *client)
{
    cpi_word_store(&pool->face->reserved[0], (uintptr_t)client, release); /* [owner] */
}

bool cpi_client_take_handles(struct cpi_pool *pool)
{
    pool->handle = cpi_handle_take();
    pool->face = pool->handle;
    if (pool->handle == NULL || pool->client == NULL)
        return pool->handle != NULL;
    pool->face = cpi_handle_take();
    if (pool->face == NULL)
        cpi_handle_give(pool->handle);
    return pool->face != NULL;
}

void cpi_client_give_handles(const struct cpi_pool *pool)
{
    if (pool->face != pool->handle)
        cpi_handle_give(pool->face);
    cpi_handle_give(pool->handle);
}

void cpi_client_open_handles(struct cpi_pool *pool)
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
    if (pool->client->shown)
        cpi_client_set_owner(pool, pool->client);
}

void cpi_client_close_handles(struct cpi_pool *pool)
{
    cpi_handle_close(pool->handle);
    if (pool->face == pool->handle)
        return;
    cpi_handle_close(pool->face);
    cpi_client_set_owner(pool, NULL);
}
