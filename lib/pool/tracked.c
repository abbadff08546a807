/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tracked.c - handles of slots, iteration over live slots, retired slots, and searches for damage.
 * Programs that only have typed pools do not link it.
 *
 * ORDERING TABLE
 *   peek  | word load | relaxed | - | -
 *
 * doc/CONCURRENCY.md 7.2, "Visits", argues why [peek] passes over no slot that is live throughout.
 */
#include "pool/slots.h"

#include <cpool/debug.h>
#include <cpool/track.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "pool/report.h"

/* Words in a cache line. */
#define CPI_SLOTMAP_LINE (CPI_LINE / CPI_SLOTMAP_SIZE)

/* The pool.  NULL, after a report, if there is none or it is not tracked. */
static const struct cpi_pool *tracked_pool(const cpool_t *handle, const char *function)
{
    const struct cpi_pool *pool = cpi_pool_seen(handle, function);

    if (pool == NULL || CPI_LIKELY((pool->flags & (CPOOL_TRACKED | CPOOL_CHECKED)) != 0))
        return pool;
    cpi_pool_report(CPOOL_EKIND, function, pool);
    return NULL;
}

cpool_handle_t cpool_handle(const cpool_t *handle, const void *slot)
{
    const struct cpi_pool *pool = tracked_pool(handle, "cpool_handle");
    uintptr_t index;

    if (pool == NULL)
        return CPOOL_HANDLE_NONE;
    return cpi_pool_place(pool, slot, &index) == 0 ? cpi_slotmap_live(&pool->map, index)
                                                   : CPOOL_HANDLE_NONE;
}

void *cpool_resolve(const cpool_t *owner, cpool_handle_t handle)
{
    const struct cpi_pool *pool = tracked_pool(owner, "cpool_resolve");
    const struct cpi_slotmap *map;
    uintptr_t index;
    void *slot;

    if (pool == NULL || handle == CPOOL_HANDLE_NONE)
        return NULL;
    map = &pool->map;
    index = cpi_slotmap_index(map, handle);
    if (index >= cpi_slab_fresh(&pool->slab))
        return NULL;
    slot = cpi_pool_slot(pool, index); /* first: a free clears the word before the place */
    return cpi_slotmap_live(map, index) == handle ? slot : NULL;
}

int cpi_pool_retired(const struct cpi_pool *pool, uintptr_t index, enum cpool_client_step step)
{
    int code;

    if (!pool->checked || step == CPOOL_CLIENT_BACK || !cpi_record_is_framed(&pool->slab, index))
        return cpi_slotmap_step(&pool->map, index, step);
    code = cpi_slotmap_step(&pool->map, index, CPOOL_CLIENT_ASKED); /* a reset leaves the mark */
    return code != 0 ? code : CPOOL_EFRAMED;
}

/* --- Iteration --- */

/* Whether a line has a live slot. */
static uint64_t line_live(const _Atomic uint64_t *words)
{
    uint64_t live = 0;

    for (unsigned i = 0; i < CPI_SLOTMAP_LINE; i++)
        live |= cpi_load(&words[i], relaxed); /* [peek] */
    return live & CPI_SLOTMAP_LIVE;
}

/* Returns the word of the first live slot in [*index, end), and sets *index to its index.  `end` is
 * at most the watermark.  If there is no live slot, returns 0 and sets *index to `end` or more. */
static uint64_t next_live(const struct cpi_slotmap *map, uintptr_t *index, uintptr_t end)
{
    uintptr_t i = *index;
    uint64_t word = 0;

    while (i < end) {
        if (i % CPI_SLOTMAP_LINE == 0 && end - i >= CPI_SLOTMAP_LINE &&
            line_live(&map->words[i]) == 0) {
            i += CPI_SLOTMAP_LINE;
            continue;
        }
        word = cpi_slotmap_live(map, i);
        if (word != 0)
            break;
        i++;
    }
    *index = i;
    return word;
}

void *cpool_iter_next(cpool_iter_t *iter)
{
    const struct cpi_pool *pool = tracked_pool(iter->pool, "cpool_iter_next");
    uintptr_t index = iter->next;
    uintptr_t fresh;
    void *slot;

    if (pool == NULL)
        return NULL;
    if (CPI_UNLIKELY(iter->size < sizeof *iter)) {
        cpi_pool_report(CPOOL_ESTRUCT, "cpool_iter_next", pool);
        return NULL;
    }
    fresh = cpi_slab_fresh(&pool->slab);
    iter->end = cpi_lower(iter->end, fresh); /* slots live before are below */
    if (index >= iter->end)
        return NULL;
    do {
        iter->handle = next_live(&pool->map, &index, iter->end);
        slot = iter->handle != CPOOL_HANDLE_NONE ? cpi_pool_slot(pool, index) : NULL;
        iter->next = ++index;
    } while (slot != NULL && cpi_slotmap_live(&pool->map, index - 1) != iter->handle);
    return slot;
}

/* --- Searches for damage --- */

int cpool_verify(cpool_t *handle, const void *slot)
{
    static const char function[] = "cpool_verify";
    struct cpi_pool *pool = cpi_pool_seen(handle, function);
    uintptr_t index;
    int code;

    if (pool == NULL)
        return CPOOL_EPOOL;
    if (slot == NULL)
        return cpi_pool_verify_all(pool, function);
    code = cpi_pool_judge(pool, slot, function, &index);
    return code != 0 || !pool->checked ? code : cpi_pool_verify_slot(pool, index, function);
}
