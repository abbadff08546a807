/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pools.c - the pools of the process: by address, by name, all of them.
 *
 * ORDERING TABLE
 *   owner | layer's owner load, with the lock held | relaxed | - | -
 *   count | with_fallback fetch-and-add, load | relaxed | - | -
 *
 * A thread that has a block of a pool has learnt of the pool by synchronisation.
 */
#include "pool/pool_impl.h"

#include <string.h>

#include <cpool/pools.h>

#include "base/atomic.h"
#include "pool/layer.h"
#include "host/os.h"
#include "host/ranges.h"
#include "base/text.h"

static _Atomic size_t with_fallback; /* pools of this process, now */

void cpi_pool_count_fallback(const struct cpi_pool *pool, size_t by)
{
    if (pool->fallback != NULL)
        cpi_fetch_add(&with_fallback, by, relaxed); /* [count] */
}

CPI_COLD static cpool_t *search_blocks(const void *block)
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

static cpool_t *pool_of_block(const void *block)
{
    return cpi_load(&with_fallback, relaxed) != 0 ? search_blocks(block) : NULL; /* [count] */
}

/* The pool in which a slot begins at this address, or of which it is a block, or NULL. */
static cpool_t *pool_of(const void *slot)
{
    cpool_t *handle = cpi_ranges_find((uintptr_t)slot);

    if (CPI_LIKELY(cpi_handle_slot(handle, (uintptr_t)slot) != UINTPTR_MAX))
        return handle;
    return pool_of_block(slot);
}

static cpool_t *around_slot(const void *address, uintptr_t *slot)
{
    cpool_t *handle = cpi_ranges_find((uintptr_t)address);

    /* Ranges are rounded.  The ends of a pool's in a slot are the outer pool's. */
    if (handle != NULL && cpi_handle_slot_around(handle, (uintptr_t)address, slot) == UINTPTR_MAX)
        handle = cpi_ranges_search((uintptr_t)address);
    if (handle != NULL && cpi_handle_slot_around(handle, (uintptr_t)address, slot) == UINTPTR_MAX)
        handle = NULL;
    return handle;
}

cpool_t *cpool_of(const void *address, void **slot)
{
    uintptr_t found = 0;
    cpool_t *handle = around_slot(address, &found);

    if (handle == NULL) {
        handle = pool_of_block(address);
        found = (uintptr_t)address;
    }
    if (slot != NULL)
        *slot = handle != NULL ? (void *)found : NULL;
    return handle;
}

void cpool_release(void *slot)
{
    cpool_t *handle = pool_of(slot);

    if (CPI_LIKELY(handle != NULL))
        cpool_free(handle, slot);
    else if (slot != NULL)
        cpi_pool_report_stray("cpool_release", slot);
}

/* With the lock held. */
static void fill_in(struct cpi_view *view, struct cpi_pool *pool)
{
    cpi_pool_figures(pool, &view->stats);
    view->stats.size = sizeof view->stats;
    memcpy(view->name, pool->name, sizeof view->name);
    view->public.size = sizeof view->public;
    view->public.pool = pool->face;
    view->public.name = view->name;
    view->public.stats = &view->stats;
    view->public.flags = pool->flags;
    view->public.kind = (pool->typed != NULL ? CPOOL_VIEW_TYPED : 0u) |
                        (pool->region_owned ? 0u : CPOOL_VIEW_CALLERS) | pool->layer.kind;
    view->public.first = (void *)pool->slab.base;
    view->public.slots = pool->slab.slots;
    view->public.number = pool->number;
    view->public.owner = cpi_load(&pool->layer.owner, relaxed); /* [owner] */
}

bool cpi_view_read(struct cpi_view *view, size_t number)
{
    const cpool_t *handle = &cpi_handles.handles[number];
    bool alive;

    cpi_lock();
    alive = handle->state != NULL;
    if (alive)
        fill_in(view, handle->state);
    cpi_unlock();
    return alive;
}

size_t cpool_each(bool (*visit)(const cpool_view_t *view, void *arg), void *arg)
{
    struct cpi_view view;
    size_t visited = 0;
    size_t i;

    for (i = 1; i < cpi_handle_count(); i++) {
        if (!cpi_view_read(&view, i))
            continue;
        visited++;
        if (!visit(&view.public, arg))
            break;
    }
    return visited;
}

/* A layer's pool has the owner's name, once there is an owner. */
static bool is_called(const struct cpi_pool *pool, const char *name)
{
    if (pool->layer.kind == 0)
        return strcmp(pool->name, name) == 0;
    return cpi_load(&pool->layer.owner, relaxed) != NULL && /* [owner] */
           strcmp(pool->layer.name, name) == 0;
}

/* With the lock held: the pool that was created first of those of a kind with this name. */
static const struct cpi_pool *find(unsigned kind, const char *name)
{
    const struct cpi_pool *found = NULL;
    size_t i;

    for (i = 1; i < cpi_handle_count(); i++) {
        const struct cpi_pool *pool = cpi_handles.handles[i].state;

        if (pool != NULL && pool->layer.kind == kind &&
            is_called(pool, name) &&
            (found == NULL || pool->number < found->number))
            found = pool;
    }
    return found;
}

cpool_t *cpool_find(const char *name)
{
    const struct cpi_pool *found;
    char cut[CPI_NAME_SIZE];
    cpool_t *handle;

    if (name == NULL)
        return NULL;
    cpi_text_copy(cut, sizeof cut, name);
    cpi_lock();
    found = find(0, cut);
    handle = found != NULL ? found->handle : NULL;
    cpi_unlock();
    return handle;
}

void *cpi_layer_find(unsigned kind, const char *name)
{
    const struct cpi_pool *found;
    char cut[CPI_NAME_SIZE];
    void *owner;

    if (name == NULL)
        return NULL;
    cpi_text_copy(cut, sizeof cut, name);
    cpi_lock();
    found = find(kind, cut);
    owner = found != NULL ? cpi_load(&found->layer.owner, relaxed) : NULL; /* [owner] */
    cpi_unlock();
    return owner;
}
