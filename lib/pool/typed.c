/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * typed.c - typed pools: opening, closing, and the functions that their inline path calls.
 *
 * ORDERING TABLE
 *   open   | pool pointer store | release | pool.h's opened | origin, and all of the pool
 *   refused | refused load, store | relaxed | - | -
 *
 * A typed pool is created with the lock held.  A fork waits for the lock, so the child finds either
 * a pool or none.
 */
#include "base/atomic.h"
#include "base/error.h"
#include "host/sync.h"
#include "pool/alloc.h"
#include "pool/config.h"

/* The pool, or NULL if it is closed.  A pool that outlived its program and was then destroyed
 * counts as closed. */
static cpool_t *open_handle(const struct cpool_typed *typed)
{
    cpool_t *handle = cpi_typed_opened(typed);

    return handle != NULL && handle->state != NULL ? handle : NULL;
}

void cpi_typed_set(struct cpool_typed *typed, struct cpi_pool *pool)
{
    cpool_t *handle = pool != NULL ? pool->handle : NULL;

    typed->origin = pool != NULL ? pool->slab.base * pool->slab.inverse : 0;
    cpi_word_store(&typed->refused, 0, relaxed); /* [refused] */
    cpi_word_store((uintptr_t *)(void *)&typed->pool, (uintptr_t)handle, release); /* [open] */
}

/* Fills in the settings that were left open from the type. */
static int complete_config(cpool_config_t *config, const struct cpool_typed *typed)
{
    if (config->name == NULL)
        config->name = typed->name;
    if (config->slot_size == 0)
        config->slot_size = typed->slot_size;
    if (config->slot_align == 0)
        config->slot_align = typed->slot_align;
    if (config->slot_size != typed->slot_size)
        return CPOOL_ESLOTSIZE;
    return config->slot_align < typed->slot_align ? CPOOL_EALIGN : 0;
}

CPI_COLD int cpool_typed_open_abi1(struct cpool_typed *typed, const cpool_config_t *given)
{
    struct cpi_pool *pool = NULL;
    cpool_config_t config;
    int code = cpi_pool_read_config(&config, given != NULL ? given : typed->settings, 0);

    if (code == 0)
        code = complete_config(&config, typed);
    if (code != 0)
        return code;
    if (!cpi_thread_startup())
        return CPOOL_ENOMEM;
    cpi_lock();
    if (open_handle(typed) == NULL)
        code = cpi_pool_build(&pool, &config, NULL);
    else if (given != NULL)
        code = CPOOL_EOPEN;
    if (code == 0 && pool != NULL) {
        pool->typed = typed;
        cpi_typed_set(typed, pool);
    }
    cpi_unlock();
    return code;
}

/* Reports only the first failure since there was a pool. */
CPI_COLD static cpool_t *open_on_first_use(struct cpool_typed *typed)
{
    int code = cpool_typed_open_abi1(typed, NULL);
    bool first;

    if (code == 0)
        return cpi_typed_opened(typed);
    cpi_lock();
    first = cpi_typed_opened(typed) == NULL &&
            cpi_word_load(&typed->refused, relaxed) == 0; /* [refused] */
    if (first)
        cpi_word_store(&typed->refused, 1, relaxed); /* [refused] */
    cpi_unlock();
    if (first)
        cpi_pool_report_unmade(typed->name, code);
    return NULL;
}

cpool_t *cpool_typed_pool_abi1(struct cpool_typed *typed)
{
    cpool_t *handle = open_handle(typed);

    return CPI_LIKELY(handle != NULL) ? handle : open_on_first_use(typed);
}

/* At the end of the process the pool stays, because threads may use it.  The variables of its
 * program, which may be a plug-in, can be unmapped, so nothing in the pool may write them any
 * more. */
int cpool_typed_close_abi1(struct cpool_typed *typed, bool unloading)
{
    cpool_t *handle;

    if (!unloading || !cpi_thread_process_ends())
        return cpool_destroy(open_handle(typed));
    if (cpi_os_process_is_dying() || !cpi_lock_at_end())
        return 0;
    handle = open_handle(typed);
    if (handle != NULL)
        ((struct cpi_pool *)handle->state)->typed = NULL;
    cpi_unlock();
    return 0;
}

/* --- Functions that the inline path calls --- */

/* Points the thread's variable to the entry of its cache, if the inline path's constants match the
 * pool and the entry may be open.  The end of the cache resets the variable (registry.c). */
CPI_COLD static struct cpi_cache *bind_entry(const struct cpool_typed *typed,
                                             struct cpi_pool *pool, cpool_cache_t **entry)
{
    struct cpi_cache *cache = cpi_registry_own_cache(&pool->registry);

    if (cache != NULL && typed->none != NULL && cache->pointer == NULL &&
        cpi_cache_active(cache) == cache->entry && pool->slab.stride == typed->slot_size) {
        cache->pointer = entry;
        cache->none = typed->none;
        *entry = cache->entry;
    }
    return cache;
}

/* The thread's cache, if its variable is bound, or never will be.  NULL: use the slow path. */
static inline struct cpi_cache *bound_cache(const cpool_t *handle, cpool_cache_t *const *entry)
{
    const cpool_cache_t *own = CPI_LIKELY(handle != NULL) ? cpi_thread_entry(handle) : NULL;
    struct cpi_cache *cache = CPI_LIKELY(own != NULL) ? own->home : NULL;

    return CPI_LIKELY(cache != NULL) && (*entry == own || cache->near != CPI_NEAR_SWAPS) ? cache
                                                                                        : NULL;
}

/* The thread's first operation in the pool, which is opened if necessary. */
CPI_COLD static void *first_typed_alloc(struct cpool_typed *typed, cpool_cache_t **entry,
                                        struct cpi_call call)
{
    cpool_t *handle = cpool_typed_pool_abi1(typed);

    return handle == NULL
               ? NULL
               : cpi_pool_alloc(handle->state, bind_entry(typed, handle->state, entry), call);
}

CPI_COLD static void first_typed_free(struct cpool_typed *typed, cpool_cache_t **entry,
                                      void *slot, struct cpi_call call)
{
    cpool_t *handle = slot != NULL ? cpool_typed_pool_abi1(typed) : NULL;

    if (handle != NULL)
        cpi_pool_free(handle->state, bind_entry(typed, handle->state, entry), slot, call);
}

void *cpool_typed_alloc_abi1(struct cpool_typed *typed, cpool_cache_t **entry)
{
    const cpool_t *handle = cpi_typed_opened(typed);
    struct cpi_cache *cache = bound_cache(handle, entry);

    if (CPI_UNLIKELY(cache == NULL))
        return first_typed_alloc(typed, entry, CPI_CALL(typed->functions->alloc));
    return cpi_pool_alloc_near(handle, cache, CPI_CALL(typed->functions->alloc));
}

void cpool_typed_free_abi1(void *slot, struct cpool_typed *typed, cpool_cache_t **entry)
{
    const cpool_t *handle = cpi_typed_opened(typed);
    struct cpi_cache *cache = slot != NULL ? bound_cache(handle, entry) : NULL;
    uintptr_t index;

    if (CPI_UNLIKELY(cache == NULL)) {
        first_typed_free(typed, entry, slot, CPI_CALL(typed->functions->free));
        return;
    }
    CPOOL_INDEX_(handle, slot, index);
    cpi_pool_free_near(handle, cache, slot, index, CPI_CALL(typed->functions->free));
}
