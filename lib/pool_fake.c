/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_fake.c - finding the fake pool of a block.
 *
 * Floor 6.
 *
 * Blocks of malloc lie anywhere, also in the slots of other pools, where malloc is made of
 * them.  So fake pools are asked first, one after the other.
 *
 * ORDERING TABLE
 *   count | count fetch-and-add, load | relaxed | - | -
 *
 * A thread that has a block of a pool has learnt of the pool by synchronisation.
 */
#include "pool_impl.h"

#include "atomic.h"

static _Atomic size_t fake_pools; /* of this process, now */

void cpi_pool_count_fake(const struct cpi_pool *pool, size_t by)
{
    if (pool->fake != NULL)
        cpi_fetch_add(&fake_pools, by, relaxed); /* [count] */
}

static uintptr_t find(const struct cpi_pool *pool, const void *address, bool around)
{
    return around ? cpi_fake_around(pool->fake, address) : cpi_fake_index(pool->fake, address);
}

/* With the lock held. */
static cpool_t *ask_all(const void *address, bool around, void **block)
{
    size_t i;

    for (i = 1; i < cpi_handle_count(); i++) {
        const struct cpi_pool *pool = cpi_handles.handles[i].state;
        uintptr_t index = CPI_FAKE_NONE;

        if (pool != NULL && pool->fake != NULL)
            index = find(pool, address, around);
        if (index == CPI_FAKE_NONE)
            continue;
        *block = cpi_fake_was(pool->fake, index);
        return pool->handle;
    }
    return NULL;
}

CPI_COLD static cpool_t *search(const void *address, bool around, void **block)
{
    bool held = cpi_lock_is_held();
    cpool_t *handle;

    if (!held)
        cpi_lock();
    handle = ask_all(address, around, block);
    if (!held)
        cpi_unlock();
    return handle;
}

cpool_t *cpi_pool_of_block(const void *address, bool around, void **block)
{
    if (CPI_LIKELY(cpi_load(&fake_pools, relaxed) == 0)) /* [count] */
        return NULL;
    return search(address, around, block);
}
