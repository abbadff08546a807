/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_fallback.c - the way of a pool with a fallback: as without one, and then a block.
 *
 * ORDERING TABLE
 *   count | with_fallback fetch-and-add, load; live, peak load | relaxed | - | -
 *
 * A thread that has a block of a pool has learnt of the pool by synchronisation.
 */
#include "fallback/fallback.h"
#include "pool/feature.h"
#include "pool/pool_alloc.h"
#include "pool/pool_options.h"

#include "base/atomic.h"
#include "host/os.h"

static _Atomic size_t with_fallback; /* pools of this process, now */

static struct cpi_fallback *fallback_of(const struct cpi_pool *pool)
{
    return pool->part[CPI_PART_FALLBACK];
}

/* --- The way --- */

/* A pool without slots hands out blocks and, but to leases, nothing else. */
CPI_COLD static void *alloc(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call)
{
    struct cpi_fallback *fallback = fallback_of(pool);
    void *slot = fallback->alone ? NULL : fallback->passed->alloc(pool, cache, call);

    return slot != NULL ? slot : cpi_fallback_take(fallback);
}

CPI_COLD static void *search(struct cpi_pool *pool, struct cpi_cache *cache)
{
    void *slot = fallback_of(pool)->passed->search(pool, cache);

    return slot != NULL ? slot : cpi_fallback_take(fallback_of(pool));
}

CPI_COLD static void *take(struct cpi_pool *pool, struct cpi_cache *cache)
{
    struct cpi_fallback *fallback = fallback_of(pool);

    return fallback->alone ? cpi_fallback_take(fallback) : fallback->passed->take(pool, cache);
}

/* A waiter takes a block rather than wait. */
CPI_COLD static void *look(struct cpi_pool *pool)
{
    struct cpi_fallback *fallback = fallback_of(pool);
    void *slot = fallback->alone ? NULL : fallback->passed->look(pool);

    return slot != NULL ? slot : cpi_fallback_take(fallback);
}

CPI_COLD static unsigned left(const struct cpi_pool *pool, const struct cpi_cache *cache)
{
    const struct cpi_fallback *fallback = fallback_of(pool);
    unsigned slots = fallback->alone ? 0 : fallback->passed->left(pool, cache);

    return slots | (cpi_fallback_has_room(fallback) ? CPI_LEFT_MORE : 0);
}

/* Until a waiter is served or called the place keeps cpool_destroy waiting, as in wait_way.c.  It
 * does not while malloc, which may block, takes the block back.  A block is live before a waiter
 * has it, so that another free, which is a mistake, may claim it meanwhile. */
CPI_COLD static enum cpi_block give(struct cpi_pool *pool, void *block)
{
    struct cpi_uncached *uncached = cpi_place_enter(&pool->registry.places);
    struct cpi_fallback *fallback = fallback_of(pool);
    enum cpi_block was = cpi_fallback_claim(fallback, block);
    char *memory = (char *)block - fallback->lead;
    bool served = false;

    if (was == CPI_BLOCK_LIVE && fallback->passed->serve != NULL) {
        cpi_fallback_restore(fallback, block);
        served = fallback->passed->serve(pool, block);
        was = served ? was : cpi_fallback_claim(fallback, block);
    }
    if (was == CPI_BLOCK_LIVE && !served) {
        cpi_fallback_retire(fallback);
        cpi_pool_came(pool, NULL);
    }
    cpi_place_leave(&pool->registry.places, uncached);
    if (was == CPI_BLOCK_LIVE && !served)
        cpi_os_free_block(memory);
    return was;
}

CPI_COLD static int stray(struct cpi_pool *pool, void *address, bool back)
{
    enum cpi_block was = back ? give(pool, address) : cpi_fallback_find(fallback_of(pool), address);

    if (was == CPI_BLOCK_NONE)
        return fallback_of(pool)->passed->stray(pool, address, back);
    if (was == CPI_BLOCK_FREED)
        return CPOOL_EDOUBLEFREE;
    return back ? 0 : CPOOL_EBLOCK;
}

/* --- Begin and end --- */

CPI_COLD static void put_before(struct cpi_fallback *fallback, const struct cpi_way *passed)
{
    fallback->passed = passed;
    fallback->way = *passed;
    fallback->way.brief = NULL;
    fallback->way.tells = false;
    fallback->way.alloc = alloc;
    fallback->way.search = search;
    fallback->way.stray = stray;
    fallback->way.take = take;
    fallback->way.look = look;
    fallback->way.left = left;
}

/* Blocks are malloc's, so the table that knows them is not in the pool's region. */
CPI_COLD static int begin(struct cpi_pool *pool, const struct cpi_layout *layout,
                 const cpool_config_t *config)
{
    bool alone = cpi_pool_is_faked(config);
    size_t limit = config->fallback + (alone ? layout->most : 0);
    struct cpi_fallback *fallback;

    if (limit == 0)
        return 0;
    fallback = cpi_fallback_create(limit, layout->slot_size, layout->align, layout->offset);
    if (fallback == NULL)
        return CPOOL_ENOMEM;
    fallback->alone = alone;
    put_before(fallback, pool->way);
    pool->way = &fallback->way;
    pool->part[CPI_PART_FALLBACK] = fallback;
    if (alone)
        pool->registry.inline_path = false;
    cpi_fetch_add(&with_fallback, (size_t)1, relaxed); /* [count] */
    return 0;
}

CPI_COLD static void end(struct cpi_pool *pool)
{
    if (fallback_of(pool) == NULL)
        return;
    cpi_fetch_add(&with_fallback, SIZE_MAX, relaxed); /* [count] */
    cpi_fallback_destroy(fallback_of(pool));
}

CPI_COLD static size_t clear(struct cpi_pool *pool)
{
    return cpi_fallback_clear(fallback_of(pool));
}

CPI_COLD static void figures(const struct cpi_pool *pool, cpool_stats_t *stats)
{
    if (fallback_of(pool) == NULL)
        return;
    stats->fallback_live = cpi_load(&fallback_of(pool)->live, relaxed); /* [count] */
    stats->fallback_peak = cpi_load(&fallback_of(pool)->peak, relaxed); /* [count] */
}

/* --- By address --- */

CPI_COLD static cpool_t *search_all(const void *block)
{
    bool held = cpi_lock_is_held();
    cpool_t *handle = NULL;
    size_t i;

    if (!held)
        cpi_lock();
    for (i = 1; i < cpi_handle_count() && handle == NULL; i++) {
        const struct cpi_pool *pool = cpi_handles()->handles[i].state;

        if (pool != NULL && fallback_of(pool) != NULL &&
            cpi_fallback_find(fallback_of(pool), block) == CPI_BLOCK_LIVE)
            handle = pool->handle;
    }
    if (!held)
        cpi_unlock();
    return handle;
}

static cpool_t *find(const void *block)
{
    return cpi_load(&with_fallback, relaxed) != 0 ? search_all(block) : NULL; /* [count] */
}

const struct cpi_feature cpi_fallback_feature = {
    .begin = begin, .end = end, .clear = clear, .figures = figures, .find = find};
