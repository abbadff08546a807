/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * announce.c - announces a pool to sanitizers and Valgrind, and shows them its memory.
 *
 * ORDERING TABLE
 *   shown | committed load | relaxed | - | -
 */
#include "pool/slots.h"

#include "base/atomic.h"
#include "base/tools.h"
#include "process/thread.h"

/* Bytes of slots that are committed and hidden at creation.  Hiding them later would race with a
 * thread that has got a slot there. */
#define CPI_HIDDEN_AHEAD ((size_t)64 * 1024 * 1024)

/* AddressSanitizer tracks memory in units of eight bytes. */
#define CPI_GRANULE ((uintptr_t)8)

static bool share_granules(const struct cpi_slab *slab)
{
    return slab->stride - slab->slot_size < CPI_GRANULE &&
           (slab->base % CPI_GRANULE != 0 || slab->stride % CPI_GRANULE != 0);
}

CPI_COLD bool cpi_announce_wanted(const cpool_config_t *config)
{
    return config->memory == NULL &&
           (config->flags & (CPOOL_CLIENT_RESERVED | CPOOL_NO_POISON)) == 0 &&
           (cpi_tools_found() & CPI_TOOLS_BYTES) != 0;
}

/* Usable bytes of the slots' memory, including the lead. */
static size_t usable_bytes(const struct cpi_pool *pool)
{
    return cpi_load(&pool->slab.extent.committed, relaxed); /* [shown] */
}

/* A tool has locks of its own.  Forks wait for the library's lock, so in no child is a lock of the
 * tool held by a thread that was opening or closing a pool.  A reset holds the lock already. */
static void open_slots(const struct cpi_pool *pool)
{
    const struct cpi_slab *slab = &pool->slab;
    bool locked = cpi_lock_unless_held();

    cpi_tools_open(pool->tools, pool, slab->extent.base, slab->extent.size,
                   slab->stride - slab->slot_size);
    cpi_unlock_if(locked);
    cpi_tools_hide(pool->tools, slab->extent.base, usable_bytes(pool));
}

CPI_COLD void cpi_announce_end(struct cpi_pool *pool)
{
    const struct cpi_slab *slab = &pool->slab;
    bool locked = cpi_lock_unless_held();

    cpi_tools_show(pool->tools, slab->extent.base, usable_bytes(pool));
    cpi_tools_close(pool->tools, pool, slab->extent.base, slab->extent.size);
    cpi_unlock_if(locked);
}

CPI_COLD void cpi_announce_begin(struct cpi_pool *pool)
{
    struct cpi_slab *slab = &pool->slab;
    uintptr_t ahead = CPI_HIDDEN_AHEAD / slab->stride;

    pool->tools = cpi_tools_found();
    if ((pool->flags & CPOOL_NO_POISON) != 0)
        pool->tools &= ~CPI_TOOLS_BYTES;
    if (share_granules(slab))
        pool->tools &= ~CPI_TOOL_ASAN;
    /* If the system refuses, less is hidden. */
    if ((pool->tools & CPI_TOOLS_BYTES) != 0)
        (void)cpi_slab_provide(slab, ahead < slab->slots ? ahead : slab->slots);
    open_slots(pool);
}

CPI_COLD void cpi_announce_reset(struct cpi_pool *pool)
{
    cpi_announce_end(pool);
    open_slots(pool);
}
