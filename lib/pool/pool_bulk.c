/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_bulk.c - many slots at once.
 *
 * Whole runs are copied between the caller's array and the loaded magazine.  A
 * pool that is not plain handles slots one by one.
 */
#include "pool/pool_alloc.h"
#include "pool/stats.h"
#include "pool/report.h"

#include "base/tools.h"

/* 0 and the pool, or the code that was reported. */
static int check_arguments(struct cpi_pool **pool, cpool_t *handle, const void *slots, size_t n,
                           const char *function)
{
    *pool = cpi_pool_of(handle, function);
    if (*pool == NULL)
        return CPOOL_EPOOL;
    if (slots != NULL || n == 0)
        return 0;
    cpi_pool_report(CPOOL_ENULL, function, *pool);
    return CPOOL_ENULL;
}

/* Up to n slots from the loaded magazine, the next one first. */
static size_t take_run(const struct cpi_cache *cache, void **slots, size_t n)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    uintptr_t count = cpi_entry_count(active);
    size_t i;

    if (cpi_cache_mark(cache, active, count) == 0)
        n = 0;
    if (n > count)
        n = count;
    for (i = 0; i < n; i++)
        slots[i] = active->rounds[count - 1 - i];
    cpi_cache_unmark(active, count - n);
    return n;
}

static size_t alloc_bulk(struct cpi_pool *pool, void **slots, size_t n, struct cpi_call call)
{
    struct cpi_cache *cache = cpi_registry_own_cache(&pool->registry);
    size_t got = 0;

    while (cache != NULL && cpi_pool_is_plain(pool) && got < n) {
        got += take_run(cache, slots + got, n - got);
        if (got == n)
            break;
        cpi_pool_note_exchange(pool, cache);
        if (!cpi_cache_refill(cache))
            break;
    }
    /* Dry, or done: one by one, which does all there is to do about it. */
    while (got < n && (slots[got] = cpi_pool_alloc(pool, cache, call)) != NULL)
        got++;
    cpi_tools_wrote(slots, got * sizeof *slots);
    return got;
}

/* Gives slots to the loaded magazine until it is full, one is wrong, or none is
 * left.  Returns how many. */
static size_t give_run(const struct cpi_pool *pool, const struct cpi_cache *cache,
                       void *const *slots, size_t n)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    uintptr_t count = cpi_entry_count(active);
    uintptr_t limit = cpi_cache_mark(cache, active, count);
    size_t room = limit > count ? limit - count : 0;
    size_t i;

    if (n > room)
        n = room;
    for (i = 0; i < n && cpi_slab_index(&pool->slab, slots[i]) < active->bound; i++)
        active->rounds[count + i] = slots[i];
    cpi_cache_unmark(active, count + i);
    return i;
}

void cpool_free_bulk(cpool_t *handle, void *const *slots, size_t n)
{
    const struct cpi_call call = CPI_CALL("cpool_free_bulk");
    struct cpi_cache *cache;
    struct cpi_pool *pool;
    size_t given = 0;

    if (check_arguments(&pool, handle, slots, n, call.function) != 0)
        return;
    cache = cpi_registry_own_cache(&pool->registry);
    while (given < n) {
        if (cache != NULL && cpi_pool_is_plain(pool))
            given += give_run(pool, cache, slots + given, n - given);
        /* The end of the run: no room, NULL, a wrong address, or none of it. */
        if (given < n)
            cpi_pool_free(pool, cache, slots[given++], call);
    }
}

size_t cpool_alloc_bulk(cpool_t *handle, void **slots, size_t n)
{
    static const char function[] = "cpool_alloc_bulk";
    struct cpi_pool *pool;

    if (check_arguments(&pool, handle, slots, n, function) != 0)
        return 0;
    return alloc_bulk(pool, slots, n, CPI_CALL(function));
}
