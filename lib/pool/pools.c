/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pools.c - the pools of the process: by address, by name, all of them.
 *
 * ORDERING TABLE
 *   owner | layer's owner load, with the lock held | relaxed | - | -
 */
#include "pool/create.h"
#include "pool/stats.h"
#include "pool/report.h"

#include <string.h>

#include <cpool/pools.h>

#include "base/atomic.h"
#include "base/list.h"
#include "pool/layer.h"
#include "host/os.h"
#include "process/addresses.h"
#include "base/error.h"

static cpool_t *around_slot(const void *address, uintptr_t *slot)
{
    cpool_t *handle = cpi_ranges_find((uintptr_t)address);

    if (handle != NULL && cpi_handle_slot_around(handle, (uintptr_t)address, slot) == UINTPTR_MAX)
        handle = NULL;
    return handle;
}

cpool_t *cpool_of(const void *address, void **slot)
{
    uintptr_t found = 0;
    cpool_t *handle = around_slot(address, &found);

    if (slot != NULL)
        *slot = handle != NULL ? (void *)found : NULL;
    return handle;
}

/* --- Views --- */

#define CPI_LAYERS (CPOOL_VIEW_OBJECTS | CPOOL_VIEW_SIZED | CPOOL_VIEW_LANES)

/* The layers' own pools, in the order of creation.  Guarded by the lock. */
static struct cpi_shown *layers;

void cpi_layer_show(struct cpi_shown *shown)
{
    struct cpi_shown **link = &layers;

    cpi_lock();
    while (*link != NULL)
        link = &(*link)->next;
    shown->number = cpi_pool_next_number();
    shown->next = NULL;
    *link = shown;
    cpi_unlock();
}

void cpi_layer_hide(const struct cpi_shown *shown)
{
    cpi_lock();
    CPI_LIST_WALK_AND_REMOVE(&layers, shown);
    cpi_unlock();
}

/* With the lock held, like the next one.  A layer may count other slots as live. */
static void correct(struct cpi_view *view, const struct cpi_pool *pool)
{
    const struct cpi_shown *shown;

    for (shown = pool->layer.kind != 0 ? layers : NULL; shown != NULL; shown = shown->next)
        if (shown->pool == pool->handle && shown->correct != NULL)
            shown->correct(shown->owner, &view->stats);
}

static void fill_in(struct cpi_view *view, struct cpi_pool *pool)
{
    cpi_pool_figures(pool, &view->stats);
    correct(view, pool);
    view->stats.size = sizeof view->stats;
    memcpy(view->name, pool->name, sizeof view->name);
    view->public.size = sizeof view->public;
    view->public.pool = pool->face;
    view->public.name = view->name;
    view->public.stats = &view->stats;
    view->public.flags = pool->flags & ~CPI_LAYER_RESERVED;
    view->public.kind = (pool->typed != NULL ? CPOOL_VIEW_TYPED : 0u) |
                        (pool->region_owned ? 0u : CPOOL_VIEW_CALLERS) | pool->layer.kind;
    view->public.first = (void *)pool->slab.base;
    view->public.slots = pool->slab.slots;
    view->public.number = pool->number;
    view->public.owner = cpi_load(&pool->layer.owner, relaxed); /* [owner] */
}

bool cpi_view_read(struct cpi_view *view, size_t number)
{
    struct cpi_pool *pool = NULL;

    cpi_lock();
    if (number < cpi_handle_count())
        pool = cpi_handles()->handles[number].state;
    if (pool != NULL)
        fill_in(view, pool);
    cpi_unlock();
    return pool != NULL;
}

/* With the lock held. */
static void fill_in_shown(struct cpi_view *view, const struct cpi_shown *shown)
{
    memset(view, 0, sizeof *view);
    if (shown->pool != NULL)
        fill_in(view, shown->pool->state);
    if (shown->figures != NULL) {
        memset(&view->stats, 0, sizeof view->stats);
        shown->figures(shown->owner, &view->stats);
        view->public.pool = NULL;
        view->public.first = NULL;
        view->public.slots = 0;
    }
    cpi_text_copy(view->name, sizeof view->name, shown->name);
    view->stats.size = sizeof view->stats;
    view->public.size = sizeof view->public;
    view->public.name = view->name;
    view->public.stats = &view->stats;
    view->public.kind |= shown->kind;
    view->public.number = shown->number;
    view->public.owner = shown->owner;
}

/* Reads the first layer with a number of at least *from, which becomes that of the next one.
 * False if there is none. */
static bool read_shown(struct cpi_view *view, uint64_t *from)
{
    const struct cpi_shown *shown;

    cpi_lock();
    for (shown = layers; shown != NULL && shown->number < *from; shown = shown->next)
        ;
    if (shown != NULL) {
        fill_in_shown(view, shown);
        *from = shown->number + 1;
    }
    cpi_unlock();
    return shown != NULL;
}

size_t cpool_each(bool (*visit)(const cpool_view_t *view, void *arg), void *arg)
{
    struct cpi_view view;
    uint64_t from = 0;
    size_t visited = 0;
    bool goes_on = true;

    for (size_t i = 1; i < cpi_handle_count() && goes_on; i++) {
        if (!cpi_view_read(&view, i) || (view.public.kind & CPI_LAYERS) != 0)
            continue;
        visited++;
        goes_on = visit(&view.public, arg);
    }
    while (goes_on && read_shown(&view, &from)) {
        visited++;
        goes_on = visit(&view.public, arg);
    }
    return visited;
}

/* --- By name --- */

/* With the lock held: the pool of slots of this name that was created first, or NULL. */
static cpool_t *find_pool(const char *name)
{
    const struct cpi_pool *found = NULL;

    for (size_t i = 1; i < cpi_handle_count(); i++) {
        const struct cpi_pool *pool = cpi_handles()->handles[i].state;

        if (pool != NULL && pool->layer.kind == 0 && strcmp(pool->name, name) == 0 &&
            (found == NULL || pool->number < found->number))
            found = pool;
    }
    return found != NULL ? found->handle : NULL;
}

/* The same for a layer's pools. */
static void *find_shown(unsigned kind, const char *name)
{
    const struct cpi_shown *shown = layers;

    while (shown != NULL && (shown->kind != kind || strcmp(shown->name, name) != 0))
        shown = shown->next;
    return shown != NULL ? shown->owner : NULL;
}

void *cpool_find(unsigned kind, const char *name)
{
    char cut[CPI_NAME_SIZE];
    void *found;

    if (name == NULL)
        return NULL;
    cpi_text_copy(cut, sizeof cut, name);
    cpi_lock();
    found = kind == 0 ? find_pool(cut) : find_shown(kind, cut);
    cpi_unlock();
    return found;
}
