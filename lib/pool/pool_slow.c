/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_slow.c - where the inline path ends: the loaded magazine is empty or full, or the entry is
 * closed.
 *
 * A cache with an open entry swaps its loaded magazine here.  Everything else is in pool_alloc.c.
 */
#include "pool/feature.h"
#include "pool/pool_alloc.h"
#include "pool/stats.h"
#include "pool/report.h"
#include "pool/layer.h"

static const char alloc_name[] = "cpool_alloc";
static const char free_name[] = "cpool_free";

/*
 * The long ways: where the calling thread may have no cache yet, or the handle is none, or the
 * entry of an explicit cache.  They are apart from the short ones, which then save no registers for
 * them.
 */
CPI_COLD static void *alloc_at_length(cpool_t *handle, cpool_cache_t *entry, struct cpi_call call)
{
    struct cpi_pool *pool;

    if ((void *)handle == entry)
        return cpi_pool_cache_alloc(entry, (struct cpi_call){"cpool_cache_alloc", call.site});
    pool = cpi_pool_of(handle, call.function);
    return pool != NULL ? cpi_pool_alloc(pool, cpi_registry_own_cache(&pool->registry), call)
                        : NULL;
}

CPI_COLD static void free_at_length(cpool_t *handle, void *slot, struct cpi_call call)
{
    struct cpi_pool *pool = cpi_pool_of(handle, call.function);

    if (pool != NULL)
        cpi_pool_free(pool, cpi_registry_own_cache(&pool->registry), slot, call);
}

/* --- Where the entry is open: a swap with a spare, or an exchange with the depot --- */

/* Without a full spare.  *slot is left as it is where there is nothing. */
CPI_APART static void exchange_empty(struct cpi_cache *cache, cpool_cache_t *entry, void **slot)
{
    void **round;

    cpi_pool_note_exchange(cache->registry->pool, cache);
    round = cpi_cache_refill_from_depot(cache, entry, 1);
    if (CPI_LIKELY(round != NULL))
        *slot = *round;
}

CPI_APART static void *swap_empty(const cpool_t *handle, struct cpi_cache *cache,
                                  struct cpi_call call)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    uint32_t left;
    void **round;
    void *slot = NULL;

    if (CPI_LIKELY(cpi_cache_enter(cache, active)) && CPI_LIKELY(cpi_entry_count(active) == 0)) {
        if (CPI_LIKELY(!__builtin_sub_overflow(cpi_cache_stocked(cache), 1u, &left))) {
            round = cpi_cache_refill_from_spare(cache, active, left, 1);
            if (CPI_LIKELY(round != NULL))
                slot = *round;
        } else {
            exchange_empty(cache, active, &slot);
        }
    }
    cpi_cache_leave(cache, active);
    return CPI_LIKELY(slot != NULL) ? slot : cpi_pool_alloc(handle->state, cache, call);
}

/* Without an empty spare.  Returns false if there is no place. */
CPI_APART static bool exchange_full(struct cpi_cache *cache, void *slot)
{
    uint32_t node;

    return CPI_LIKELY(cpi_cache_spill_to_depot(cache, slot, &node)) ||
           cpi_cache_spill_at_length(cache, node, slot);
}

CPI_APART static void swap_full(const cpool_t *handle, struct cpi_cache *cache, void *slot,
                                uintptr_t index, struct cpi_call call)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    bool given = false;

    if (CPI_LIKELY(cpi_cache_enter(cache, active)) &&
        CPI_LIKELY(cpi_cache_is_just_full(cache, active, index))) {
        uint32_t stocked = cpi_cache_stocked(cache);

        given = (CPI_LIKELY(stocked < cache->quota) &&
                 CPI_LIKELY(cpi_cache_spill_to_spare(cache, active, stocked, slot))) ||
                exchange_full(cache, slot);
    }
    cpi_cache_leave(cache, active);
    if (CPI_UNLIKELY(!given))
        cpi_pool_free(handle->state, cache, slot, call);
}

/* --- With the calling thread's cache.  Each ends with a call, for which no register is
 * saved. --- */

static inline void *near_alloc(const cpool_t *handle, struct cpi_cache *cache,
                               struct cpi_call call)
{
    if (CPI_LIKELY(cache->near == CPI_NEAR_SWAPS))
        return swap_empty(handle, cache, call);
    if (cache->near == CPI_NEAR_TRACKED)
        return cpi_track_alloc(handle, cache, call);
    return cpi_pool_alloc(handle->state, cache, call);
}

static inline void near_free(const cpool_t *handle, struct cpi_cache *cache, void *slot,
                             uintptr_t index, struct cpi_call call)
{
    if (CPI_LIKELY(cache->near == CPI_NEAR_SWAPS))
        swap_full(handle, cache, slot, index, call);
    else if (cache->near == CPI_NEAR_TRACKED)
        cpi_track_free(handle, cache, slot, index, call);
    else
        cpi_pool_free(handle->state, cache, slot, call);
}

/* An entry that is the pool's has a cache.  That of a thread without a cache or of a destroyed
 * pool is no pool's.  The inline path has read the entry already, so a wrong handle
 * traps there or is noticed here. */
CPI_WITHIN static inline void *alloc_out(cpool_t *handle, cpool_cache_t *entry, const void *site)
{
    const struct cpi_call call = {alloc_name, site};

    if (CPI_UNLIKELY(entry->pool != handle))
        return alloc_at_length(handle, entry, call);
    return near_alloc(handle, entry->home, call);
}

CPI_WITHIN static inline void free_out(cpool_t *handle, void *slot, uintptr_t index,
                                       cpool_cache_t *entry, const void *site)
{
    if (CPI_LIKELY(entry->pool == handle))
        near_free(handle, entry->home, slot, index, (struct cpi_call){free_name, site});
    else if ((void *)handle != entry)
        free_at_length(handle, slot, (struct cpi_call){free_name, site});
    else
        cpi_pool_cache_free(entry, slot, (struct cpi_call){"cpool_cache_free", site});
}

void *cpool_alloc_abi1(cpool_t *handle, cpool_cache_t *entry)
{
    return alloc_out(handle, entry, CPI_CALLER());
}

void cpool_free_abi1(cpool_t *handle, void *slot, uintptr_t index, cpool_cache_t *entry)
{
    free_out(handle, slot, index, entry, CPI_CALLER());
}

void *cpi_alloc_out(cpool_t *handle, cpool_cache_t *entry, const void *site)
{
    return alloc_out(handle, entry, site);
}

void cpi_free_out(cpool_t *handle, void *slot, uintptr_t index, cpool_cache_t *entry,
                  const void *site)
{
    free_out(handle, slot, index, entry, site);
}

void cpi_layer_free(cpool_t *handle, void *slot)
{
    uintptr_t index;

    CPOOL_INDEX_(handle, slot, index);
    cpool_free_abi1(handle, slot, index, cpi_thread_entry(handle));
}

/* The inline path has left its mark. */
CPI_APART bool cpi_layer_pop_hidden(cpool_cache_t *entry, void **slot)
{
    const struct cpi_cache *cache = entry->home;

    if (cache != NULL && cpi_cache_active(cache) != entry)
        return cpi_cache_pop(cache, cpi_cache_active(cache), slot);
    if (cache != NULL)
        cpi_cache_unmark(entry, cpi_entry_count(entry));
    return false;
}

/* --- For typed pools --- */

/*
 * The thread's variable points to the entry of its cache from now on, if the numbers of the inline
 * path are the pool's and the entry may be open.  The cache's end puts it back (registry.c).
 */
CPI_COLD static struct cpi_cache *adopt(const struct cpool_typed *typed, struct cpi_pool *pool,
                                        cpool_cache_t **entry)
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

/* The thread's cache, if its variable is as adopt leaves it.  NULL: at length. */
static inline struct cpi_cache *adopted(const cpool_t *handle, cpool_cache_t *const *entry)
{
    const cpool_cache_t *own = CPI_LIKELY(handle != NULL) ? cpi_thread_entry(handle) : NULL;
    struct cpi_cache *cache = CPI_LIKELY(own != NULL) ? own->home : NULL;

    return CPI_LIKELY(cache != NULL) && (*entry == own || cache->near != CPI_NEAR_SWAPS) ? cache
                                                                                        : NULL;
}

/* The thread's first operation in the pool, which is opened if need be. */
CPI_COLD static void *typed_alloc_at_length(struct cpool_typed *typed, cpool_cache_t **entry,
                                            struct cpi_call call)
{
    cpool_t *handle = cpool_typed_pool_abi1(typed);

    return handle == NULL ? NULL
                          : cpi_pool_alloc(handle->state, adopt(typed, handle->state, entry), call);
}

CPI_COLD static void typed_free_at_length(struct cpool_typed *typed, cpool_cache_t **entry,
                                          void *slot, struct cpi_call call)
{
    cpool_t *handle = slot != NULL ? cpool_typed_pool_abi1(typed) : NULL;

    if (handle != NULL)
        cpi_pool_free(handle->state, adopt(typed, handle->state, entry), slot, call);
}

void *cpool_typed_alloc_abi1(struct cpool_typed *typed, cpool_cache_t **entry)
{
    const cpool_t *handle = cpi_typed_opened(typed);
    struct cpi_cache *cache = adopted(handle, entry);

    if (CPI_UNLIKELY(cache == NULL))
        return typed_alloc_at_length(typed, entry, CPI_CALL(typed->functions->alloc));
    return near_alloc(handle, cache, CPI_CALL(typed->functions->alloc));
}

void cpool_typed_free_abi1(void *slot, struct cpool_typed *typed, cpool_cache_t **entry)
{
    const cpool_t *handle = cpi_typed_opened(typed);
    struct cpi_cache *cache = slot != NULL ? adopted(handle, entry) : NULL;
    uintptr_t index;

    if (CPI_UNLIKELY(cache == NULL)) {
        typed_free_at_length(typed, entry, slot, CPI_CALL(typed->functions->free));
        return;
    }
    CPOOL_INDEX_(handle, slot, index);
    near_free(handle, cache, slot, index, CPI_CALL(typed->functions->free));
}
