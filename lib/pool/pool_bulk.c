/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_bulk.c - many slots at once.
 *
 * Whole runs are copied between the caller's array and the loaded magazine.  A
 * pool without the inline path handles slots one by one.
 *
 * ORDERING TABLE
 *   own  | entry count load  | relaxed | - | -
 *   show | entry count store | release | registry.c's forked, steal.c's shown | the rounds
 *                               below, and the spare that a loaded magazine became (cache.h)
 */
#include "pool/pool_alloc.h"
#include "pool/pool_info.h"
#include "pool/pool_report.h"

#include "base/atomic.h"
#include "cache/mark.h"
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
static size_t take_run(cpool_cache_t *entry, void **slots, size_t n)
{
    uintptr_t count = cpi_word_load(&entry->count, relaxed); /* [own] */
    size_t i;

    if (n > count)
        n = count;
    for (i = 0; i < n; i++)
        slots[i] = entry->rounds[count - 1 - i];
    cpi_word_store(&entry->count, count - n, release); /* [show] */
    return n;
}

/* No stealing thread locks a cache of a pool that has the inline path. */
static bool refill_inside(struct cpi_cache *cache)
{
    bool refilled;

    cpi_mark_enter(cache);
    refilled = cpi_cache_refill(cache);
    cpi_mark_leave(cache);
    return refilled;
}

static size_t alloc_bulk(struct cpi_pool *pool, void **slots, size_t n, struct cpi_call call)
{
    struct cpi_cache *cache = cpi_registry_own_cache(&pool->registry);
    size_t got = 0;

    while (cache != NULL && pool->registry.inline_path && got < n) {
        got += take_run(cpi_cache_active(cache), slots + got, n - got);
        if (got == n)
            break;
        cpi_pool_note_exchange(pool, cache);
        if (!refill_inside(cache))
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
static size_t give_run(struct cpi_pool *pool, cpool_cache_t *entry, void *const *slots, size_t n)
{
    uintptr_t count = cpi_word_load(&entry->count, relaxed); /* [own] */
    size_t room = entry->limit - count;
    size_t i;

    if (n > room)
        n = room;
    for (i = 0; i < n && cpi_slab_index(&pool->slab, slots[i]) < entry->bound; i++)
        entry->rounds[count + i] = slots[i];
    cpi_word_store(&entry->count, count + i, release); /* [show] */
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
        if (cache != NULL && pool->registry.inline_path)
            given += give_run(pool, cpi_cache_active(cache), slots + given, n - given);
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
