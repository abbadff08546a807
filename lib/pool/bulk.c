/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bulk.c - many slots at once, and further forms of alloc and free: without a cache, and by
 * address.
 *
 * In plain pools, runs of slots are copied between the caller's array and the loaded magazine.
 * Other pools handle slots one by one.
 */
#include <cpool/pools.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/tools.h"
#include "pool/alloc.h"

/* --- Many at once --- */

/* The pool, or NULL after a report. */
static struct cpi_pool *bulk_pool(cpool_t *handle, const void *slots, size_t n,
                                  const char *function)
{
    struct cpi_pool *pool = cpi_pool_of(handle, function);

    if (pool == NULL || slots != NULL || n == 0)
        return pool;
    cpi_pool_report(CPOOL_ENULL, function, pool);
    return NULL;
}

/* Takes up to n slots from the loaded magazine, in the order of single allocs. */
static size_t copy_run_out(const struct cpi_cache *cache, void **slots, size_t n)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    uintptr_t count = cpi_entry_count(active);

    n = cpi_cache_mark(cache, active, count) != 0 ? cpi_lower(n, count) : 0;
    for (size_t i = 0; i < n; i++)
        slots[i] = active->rounds[count - 1 - i];
    cpi_cache_unmark(active, count - n);
    return n;
}

static size_t alloc_runs(struct cpi_pool *pool, void **slots, size_t n, struct cpi_call call)
{
    struct cpi_cache *cache = cpi_registry_own_cache(&pool->registry);
    size_t got = 0;

    while (cache != NULL && cpi_pool_is_plain(pool) && got < n) {
        size_t run = copy_run_out(cache, slots + got, n - got);

        got += run;
        if (run > 0)
            slots[got - 1] = cpi_pool_sample(pool, cache, slots[got - 1], run - 1, call.site);
        if (got == n)
            break;
        cpi_pool_note_exchange(pool, cache);
        if (!cpi_cache_refill(cache))
            break;
    }
    /* One slot at a time, with the full search of a dry pool. */
    while (got < n && (slots[got] = cpi_pool_alloc(pool, cache, call)) != NULL)
        got++;
    cpi_tools_wrote(slots, got * sizeof *slots);
    return got;
}

/* Gives slots to the loaded magazine until it is full, one is wrong, or none is left.  Returns the
 * number given. */
static size_t copy_run_in(const struct cpi_pool *pool, const struct cpi_cache *cache,
                       void *const *slots, size_t n)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    uintptr_t count = cpi_entry_count(active);
    uintptr_t limit = cpi_cache_mark(cache, active, count);
    size_t i;

    n = limit > count ? cpi_lower(n, limit - count) : 0;
    for (i = 0; i < n && cpi_slab_index(&pool->slab, slots[i]) < active->bound; i++)
        active->rounds[count + i] = slots[i];
    cpi_cache_unmark(active, count + i);
    return i;
}

void cpool_free_bulk(cpool_t *handle, void *const *slots, size_t n)
{
    const struct cpi_call call = CPI_CALL("cpool_free_bulk");
    struct cpi_pool *pool = bulk_pool(handle, slots, n, call.function);
    struct cpi_cache *cache;
    size_t given = 0;

    if (pool == NULL)
        return;
    cache = cpi_registry_own_cache(&pool->registry);
    while (given < n) {
        if (cache != NULL && cpi_pool_is_plain(pool))
            given += copy_run_in(pool, cache, slots + given, n - given);
        /* The run ended because of a full magazine, NULL or a wrong address. */
        if (given < n)
            cpi_pool_free(pool, cache, slots[given++], call);
    }
}

size_t cpool_alloc_bulk(cpool_t *handle, void **slots, size_t n, size_t least)
{
    static const char function[] = "cpool_alloc_bulk";
    struct cpi_pool *pool = bulk_pool(handle, slots, n, function);
    size_t got;

    if (pool == NULL)
        return 0;
    got = alloc_runs(pool, slots, n, CPI_CALL(function));
    if (CPI_LIKELY(got >= least))
        return got;
    if (got == n)
        cpi_pool_note_failure(pool); /* more were asked for than there is room */
    for (size_t i = 0; i < got && pool->checked; i++)
        cpi_pool_mend_slot(pool, slots[i], function);
    cpool_free_bulk(handle, slots, got);
    return 0;
}

/* --- Other forms --- */

void *cpool_alloc_uncached(cpool_t *handle)
{
    static const char function[] = "cpool_alloc_uncached";
    struct cpi_pool *pool = cpi_pool_of(handle, function);

    return pool != NULL ? cpi_pool_alloc(pool, NULL, CPI_CALL(function)) : NULL;
}

void cpool_free_uncached(cpool_t *handle, void *slot)
{
    static const char function[] = "cpool_free_uncached";
    struct cpi_pool *pool = cpi_pool_of(handle, function);

    if (pool != NULL)
        cpi_pool_free(pool, NULL, slot, CPI_CALL(function));
}

/* No slot of any pool begins at this address. */
CPI_COLD static void report_stray(const char *function, const void *address)
{
    const struct cpi_pool *pool = cpi_pool_at(cpool_of(address, NULL));
    cpool_error_t error = {
        .code = CPOOL_EFOREIGN, .function = function, .name = "", .address = address};

    if (pool != NULL) {
        uintptr_t index;

        cpi_slab_place(&pool->slab, address, &index);
        cpi_pool_report_address(CPOOL_EMISALIGNED, function, pool, address, index);
        return;
    }
    cpool_client_report(&error, "%s: the address lies outside all pools (address %p)", function,
                        address);
}

void cpool_release(void *slot)
{
    cpool_t *handle = cpi_handle_find((uintptr_t)slot, NULL);
    void *start;

    if (CPI_LIKELY(cpi_handle_slot(handle, (uintptr_t)slot) != UINTPTR_MAX) ||
        ((handle = cpool_of(slot, &start)) != NULL && start == slot))
        cpool_free(handle, slot);
    else if (slot != NULL)
        report_stray("cpool_release", slot);
}
