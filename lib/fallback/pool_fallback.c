/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_fallback.c - the way of a pool with a fallback: as without one, and then a block.
 *
 * ORDERING TABLE
 *   count | with_fallback fetch-and-add, load | relaxed | - | -
 *
 * A thread that has a block of a pool has learnt of the pool by synchronisation.
 */
#include "pool/pool_alloc.h"
#include "pool/pool_config.h"
#include "pool/pool_options.h"

#include "base/atomic.h"

static _Atomic size_t with_fallback; /* pools of this process, now */

/* --- The way --- */

/* A pool without slots hands out blocks and, but to leases, nothing else. */
static void *alloc(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call)
{
    struct cpi_fallback *fallback = pool->fallback;
    void *slot = fallback->alone ? NULL : fallback->passed->alloc(pool, cache, call);

    return slot != NULL ? slot : cpi_fallback_take(fallback);
}

static void *take(struct cpi_pool *pool, struct cpi_cache *cache)
{
    struct cpi_fallback *fallback = pool->fallback;

    return fallback->alone ? cpi_fallback_take(fallback) : fallback->passed->take(pool, cache);
}

/* A waiter takes a block rather than wait. */
static void *look(struct cpi_pool *pool)
{
    struct cpi_fallback *fallback = pool->fallback;
    void *slot = fallback->alone ? NULL : fallback->passed->look(pool);

    return slot != NULL ? slot : cpi_fallback_take(fallback);
}

static unsigned left(const struct cpi_pool *pool, const struct cpi_cache *cache)
{
    const struct cpi_fallback *fallback = pool->fallback;
    unsigned slots = fallback->alone ? 0 : fallback->passed->left(pool, cache);

    return slots | (cpi_fallback_has_room(fallback) ? CPI_LEFT_MORE : 0);
}

/* Until a waiter is called the place keeps cpool_destroy waiting, as in wait_way.c. */
static enum cpi_block give(struct cpi_pool *pool, void *block)
{
    struct cpi_uncached *uncached = cpi_place_enter(&pool->registry.places);
    enum cpi_block was = cpi_fallback_give(pool->fallback, block);

    if (was == CPI_BLOCK_LIVE)
        cpi_pool_came(pool, NULL);
    cpi_place_leave(&pool->registry.places, uncached);
    return was;
}

static int stray(struct cpi_pool *pool, void *address, bool back)
{
    enum cpi_block was = back ? give(pool, address) : cpi_fallback_find(pool->fallback, address);

    if (was == CPI_BLOCK_NONE)
        return pool->fallback->passed->stray(pool, address, back);
    if (was == CPI_BLOCK_FREED)
        return CPOOL_EDOUBLEFREE;
    return back ? 0 : CPOOL_EBLOCK;
}

/* --- Begin and end --- */

static void count_pool(size_t by)
{
    cpi_fetch_add(&with_fallback, by, relaxed); /* [count] */
}

/* Blocks are malloc's, so the table that knows them is not in the pool's region. */
int cpi_pool_add_fallback(struct cpi_pool *pool, const cpool_config_t *config)
{
    bool alone = cpi_pool_is_faked(config);
    size_t limit = config->fallback + (alone ? pool->slab.most : 0);
    struct cpi_fallback *fallback;

    if (limit == 0)
        return 0;
    fallback = cpi_fallback_create(limit, config->slot_size, cpi_layout_align(config),
                                   config->slot_offset);
    if (fallback == NULL)
        return CPOOL_ENOMEM;
    fallback->alone = alone;
    fallback->passed = pool->way;
    fallback->way = *pool->way;
    fallback->way.alloc = alloc;
    fallback->way.stray = stray;
    fallback->way.take = take;
    fallback->way.look = look;
    fallback->way.left = left;
    pool->way = &fallback->way;
    pool->fallback = fallback;
    if (alone)
        pool->registry.inline_path = false;
    count_pool(1);
    return 0;
}

void cpi_pool_end_fallback(struct cpi_pool *pool)
{
    if (pool->fallback == NULL)
        return;
    count_pool(SIZE_MAX);
    cpi_fallback_destroy(pool->fallback);
}

/* --- By address --- */

CPI_COLD static cpool_t *search(const void *block)
{
    bool held = cpi_lock_is_held();
    cpool_t *handle = NULL;
    size_t i;

    if (!held)
        cpi_lock();
    for (i = 1; i < cpi_handle_count() && handle == NULL; i++) {
        const struct cpi_pool *pool = cpi_handles.handles[i].state;

        if (pool != NULL && pool->fallback != NULL &&
            cpi_fallback_find(pool->fallback, block) == CPI_BLOCK_LIVE)
            handle = pool->handle;
    }
    if (!held)
        cpi_unlock();
    return handle;
}

cpool_t *cpi_pool_of_block(const void *block)
{
    return cpi_load(&with_fallback, relaxed) != 0 ? search(block) : NULL; /* [count] */
}
