/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pools.c - the pools of the process: by address, by name, all of them.
 *
 * Floor 6.
 */
#include "pool_impl.h"

#include <string.h>

#include <cpool/pools.h>

#include "os.h"
#include "ranges.h"

cpool_t *cpool_of(const void *slot)
{
    void *block;
    cpool_t *handle = cpi_pool_of_block(slot, false, &block);

    if (CPI_UNLIKELY(handle != NULL))
        return handle;
    handle = cpi_ranges_find((uintptr_t)slot);
    return cpi_handle_slot(handle, (uintptr_t)slot) != UINTPTR_MAX ? handle : NULL;
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

cpool_t *cpool_around(const void *address, void **slot)
{
    void *block = NULL;
    cpool_t *handle = cpi_pool_of_block(address, true, &block);
    uintptr_t found = (uintptr_t)block;

    if (handle == NULL)
        handle = around_slot(address, &found);
    if (slot != NULL)
        *slot = handle != NULL ? (void *)found : NULL;
    return handle;
}

void cpool_release(void *slot)
{
    cpool_t *handle = cpool_of(slot);

    if (CPI_LIKELY(handle != NULL))
        cpool_free(handle, slot);
    else if (slot != NULL)
        cpi_pool_report_stray("cpool_release", slot);
}

/* With the lock held.  Returns false if a thread is taking a sample of the pool. */
static bool fill_in(struct cpi_view *view, struct cpi_pool *pool)
{
    if (!cpi_pool_try_figures(pool, &view->stats))
        return false;
    view->stats.size = sizeof view->stats;
    memcpy(view->name, pool->name, sizeof view->name);
    view->public.size = sizeof view->public;
    view->public.pool = pool->handle;
    view->public.name = view->name;
    view->public.stats = &view->stats;
    view->public.flags = pool->flags;
    view->public.kind = (pool->typed != NULL ? CPOOL_VIEW_TYPED : 0u) |
                        (pool->region_owned ? 0u : CPOOL_VIEW_CALLERS);
    view->public.first = pool->fake == NULL ? (void *)pool->slab.base : NULL;
    view->public.slots = pool->slab.slots;
    view->public.number = pool->number;
    return true;
}

bool cpi_view_read(struct cpi_view *view, size_t number)
{
    const cpool_t *handle = &cpi_handles.handles[number];
    unsigned times = 0;
    bool alive;
    bool done;

    do {
        if (times > 0)
            cpi_os_back_off(times);
        times++;
        cpi_lock();
        alive = handle->state != NULL;
        done = alive && fill_in(view, handle->state);
        cpi_unlock();
    } while (alive && !done);
    return done;
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

cpool_t *cpool_find(const char *name)
{
    const struct cpi_pool *found = NULL;
    char cut[CPI_NAME_SIZE];
    cpool_t *handle;
    size_t i;

    if (name == NULL)
        return NULL;
    cpi_pool_cut_name(cut, name);
    cpi_lock();
    for (i = 1; i < cpi_handle_count(); i++) {
        const struct cpi_pool *pool = cpi_handles.handles[i].state;

        if (pool != NULL && strcmp(pool->name, cut) == 0 &&
            (found == NULL || pool->number < found->number))
            found = pool;
    }
    handle = found != NULL ? found->handle : NULL;
    cpi_unlock();
    return handle;
}
