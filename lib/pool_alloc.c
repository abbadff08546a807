/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_alloc.c - allocating and freeing, when the fast path cannot.
 *
 * Floor 6.
 */
#include "pool_impl.h"

#include <string.h>

#include "error.h"

/* --- Reports --- */

static void set_error(cpool_error_t *error, int code, const char *function, const cpool_t *pool)
{
    memset(error, 0, sizeof *error);
    error->code = code;
    error->function = function;
    error->pool = (cpool_t *)(uintptr_t)pool;
    error->name = "";
}

void cpi_pool_report(int code, const char *function, const cpool_t *pool)
{
    cpool_error_t error;

    set_error(&error, code, function, pool);
    if (code != CPOOL_EPOOL)
        error.name = pool->name;
    cpi_report(&error, "%s: %s (pool '%s' %p)", function, cpool_strerror(code), error.name,
               (const void *)pool);
}

void cpi_pool_report_slot(int code, const char *function, const cpool_t *pool, uintptr_t index)
{
    const void *slot = cpi_slab_slot(&pool->slab, index);

    cpi_pool_report_address(code, function, pool, slot, index);
}

void cpi_pool_report_address(int code, const char *function, const cpool_t *pool,
                             const void *address, uintptr_t index)
{
    cpool_error_t error;

    set_error(&error, code, function, pool);
    error.name = pool->name;
    error.address = address;
    error.slot = cpi_slab_slot(&pool->slab, index);
    error.index = index;
    if (pool->checked && index < cpi_slab_fresh(&pool->slab))
        error.site = cpi_watch_site(&pool->slab, index);
    if (error.site != NULL)
        cpi_report(&error,
                   "%s: %s (pool '%s' %p, address %p, nearest slot %zu at %p, last taken or "
                   "freed at %p)",
                   function, cpool_strerror(code), pool->name, (const void *)pool, address,
                   error.index, error.slot, error.site);
    else
        cpi_report(&error, "%s: %s (pool '%s' %p, address %p, nearest slot %zu at %p)", function,
                   cpool_strerror(code), pool->name, (const void *)pool, address, error.index,
                   error.slot);
}

bool cpi_pool_validate(cpool_t *pool, const void *slot, const char *function)
{
    static const int codes[] = {
        [CPI_PLACE_UNUSED] = CPOOL_EUNUSED,
        [CPI_PLACE_INSIDE] = CPOOL_EMISALIGNED,
        [CPI_PLACE_OUTSIDE] = CPOOL_EFOREIGN,
    };
    uintptr_t index;
    enum cpi_place place = cpi_slab_place(&pool->slab, slot, &index);

    if (CPI_LIKELY(place == CPI_PLACE_SLOT))
        return true;
    cpi_pool_report_address(codes[place], function, pool, slot, index);
    return false;
}

/* --- Checked pools --- */

static void watch_alloc(cpool_t *pool, const void *slot, const char *function, const void *site)
{
    uintptr_t index = cpi_slab_index(&pool->slab, slot);

    if (cpi_watch_alloc(&pool->slab, index, site) != CPI_WATCH_GOOD)
        cpi_pool_report_slot(CPOOL_EGUARD, function, pool, index);
}

static bool watch_free(cpool_t *pool, const void *slot, const char *function, const void *site)
{
    uintptr_t index = cpi_slab_index(&pool->slab, slot);
    enum cpi_watch_finding finding = cpi_watch_free(&pool->slab, index, site);

    if (finding == CPI_WATCH_GOOD)
        return true;
    cpi_pool_report_slot(finding == CPI_WATCH_FREE ? CPOOL_EDOUBLEFREE : CPOOL_EGUARD, function,
                         pool, index);
    return false;
}

/* --- Without a cache --- */

static void *alloc_uncached(cpool_t *pool)
{
    struct cpi_dealings dealings;
    uintptr_t index;
    void *slot;

    memset(&dealings, 0, sizeof dealings);
    slot = cpi_depot_alloc_slot(&pool->depot, &dealings);
    cpi_roster_account(&pool->roster, &dealings);
    if (slot == NULL && cpi_cache_claim(&pool->slab, &pool->depot, 1, &index) == 1)
        slot = cpi_slab_slot(&pool->slab, index);
    return slot;
}

static void free_uncached(cpool_t *pool, void *slot)
{
    struct cpi_dealings dealings;

    memset(&dealings, 0, sizeof dealings);
    cpi_depot_free_slot(&pool->depot, &dealings, slot);
    cpi_roster_account(&pool->roster, &dealings);
}

/* --- One slot, in every mode --- */

/* Widening is a matter of the registry's, so the cache only says that it wants
 * it, and whoever drives the cache asks. */
static void widen_if_wanted(struct cpi_cache *cache)
{
    if (CPI_UNLIKELY(cache->wants))
        cpi_roster_widen(cache->roster, cache);
}

bool cpi_pool_recall(cpool_t *pool)
{
    struct cpi_dealings dealings;
    bool recalled;

    memset(&dealings, 0, sizeof dealings);
    cpi_depot_set_dry(&pool->depot, true);
    recalled = cpi_roster_recall(&pool->roster, &dealings);
    cpi_roster_account(&pool->roster, &dealings);
    return recalled;
}

static void *take_slot(cpool_t *pool, struct cpi_cache *cache)
{
    void *slot;

    if (cache == NULL)
        return alloc_uncached(pool);
    slot = cpi_cache_alloc(cache);
    widen_if_wanted(cache);
    return slot;
}

void *cpi_pool_alloc(cpool_t *pool, struct cpi_cache *cache, const char *function,
                     const void *site)
{
    void *slot = take_slot(pool, cache);

    while (CPI_UNLIKELY(slot == NULL) && cpi_pool_recall(pool))
        slot = take_slot(pool, cache);
    if (CPI_UNLIKELY(pool->checked) && slot != NULL)
        watch_alloc(pool, slot, function, site);
    return slot;
}

void cpi_pool_free(cpool_t *pool, struct cpi_cache *cache, void *slot, const char *function,
                   const void *site)
{
    if (slot == NULL || !cpi_pool_validate(pool, slot, function))
        return;
    if (CPI_UNLIKELY(pool->checked) && !watch_free(pool, slot, function, site))
        return;
    if (cache == NULL) {
        free_uncached(pool, slot);
        return;
    }
    cpi_cache_free(cache, slot);
    widen_if_wanted(cache);
}

void *cpool_alloc_slow(cpool_t *pool)
{
    return cpi_pool_alloc(pool, cpi_roster_own_cache(&pool->roster), "cpool_alloc", CPI_CALLER());
}

void cpool_free_slow(cpool_t *pool, void *slot)
{
    cpi_pool_free(pool, cpi_roster_own_cache(&pool->roster), slot, "cpool_free", CPI_CALLER());
}

void *cpool_calloc(cpool_t *pool)
{
    void *slot = pool->checked ? cpi_pool_alloc(pool, cpi_roster_own_cache(&pool->roster),
                                                "cpool_calloc", CPI_CALLER())
                               : cpool_alloc(pool);

    if (slot != NULL)
        memset(slot, 0, pool->slab.slot_size);
    return slot;
}

void *cpool_depot_alloc(cpool_t *pool)
{
    return cpi_pool_alloc(pool, NULL, "cpool_depot_alloc", CPI_CALLER());
}

void cpool_depot_free(cpool_t *pool, void *slot)
{
    cpi_pool_free(pool, NULL, slot, "cpool_depot_free", CPI_CALLER());
}

/* --- Explicit caches --- */

/* Only checked pools come here often enough to ask whose the cache is. */
static bool owner_is_right(const struct cpi_cache *cache, const char *function)
{
    const cpool_t *pool = cache->entry->pool;

    if (!pool->checked || cache->owner == NULL || cache->owner == cpi_thread_known())
        return true;
    cpi_pool_report(CPOOL_EOWNER, function, pool);
    return false;
}

void *cpool_cache_alloc_slow(cpool_cache_t *entry)
{
    struct cpi_cache *cache = entry->home;

    if (!owner_is_right(cache, "cpool_cache_alloc"))
        return NULL;
    return cpi_pool_alloc(entry->pool, cache, "cpool_cache_alloc", CPI_CALLER());
}

void cpool_cache_free_slow(cpool_cache_t *entry, void *slot)
{
    struct cpi_cache *cache = entry->home;

    if (owner_is_right(cache, "cpool_cache_free"))
        cpi_pool_free(entry->pool, cache, slot, "cpool_cache_free", CPI_CALLER());
}

cpool_cache_t *cpool_cache(cpool_t *pool)
{
    struct cpi_cache *cache = cpi_roster_own_cache(&pool->roster);

    return cache == NULL ? NULL : cache->entry;
}

int cpool_cache_create(cpool_cache_t **handle, cpool_t *pool)
{
    struct cpi_cache *cache;

    if (handle == NULL)
        return CPOOL_ENULL;
    *handle = NULL;
    if (pool == NULL)
        return CPOOL_ENULL;
    cache = cpi_roster_add_cache(&pool->roster);
    if (cache == NULL)
        return CPOOL_ENOMEM;
    *handle = cache->entry;
    return 0;
}

void cpool_cache_destroy(cpool_cache_t *entry)
{
    struct cpi_cache *cache;

    if (entry == NULL)
        return;
    cache = entry->home;
    if (cache->owner != NULL)
        cpi_pool_report(CPOOL_EOWNER, "cpool_cache_destroy", entry->pool);
    else
        cpi_roster_remove_cache(cache->roster, cache);
}

void cpool_flush(cpool_t *pool)
{
    struct cpi_cache *cache = cpi_roster_known_cache(&pool->roster);

    if (cache != NULL)
        cpi_cache_flush(cache);
}
