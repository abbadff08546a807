/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pools.c - finds the pool of an address, and visits all pools of the process.
 */
#include "pool/report.h"
#include "pool/slots.h"

#include <string.h>

#include <cpool/pools.h>

#include "base/error.h"
#include "base/tools.h"

cpool_t *cpool_of(const void *address, void **slot)
{
    uintptr_t around = 0;
    cpool_t *handle = cpi_handle_find((uintptr_t)address, slot != NULL ? &around : NULL);

    if (handle == NULL) {
        handle = cpi_handle_zoned((uintptr_t)address, &around);
        handle = around != 0 ? handle : NULL;
    }
    if (slot != NULL) {
        *slot = (void *)around;
        cpi_tools_wrote(slot, sizeof *slot);
    }
    return handle;
}

/* --- Views --- */

#define CPI_CLIENTS (CPOOL_VIEW_OBJECTS | CPOOL_VIEW_SIZED | CPOOL_VIEW_LANES)

cpool_client_t *cpi_clients;

/* With the lock held.  The client may have its own count of live slots. */
static void fill_view(struct cpi_view *view, struct cpi_pool *pool)
{
    const cpool_client_t *client =
        pool->client != NULL && pool->client->shown ? pool->client : NULL;

    cpi_pool_figures(pool, &view->figures);
    if (client != NULL && client->figures != NULL && !client->sums)
        client->figures(client->owner, &view->figures.stats);
    view->figures.stats.size = sizeof view->figures.stats;
    memcpy(view->name, pool->name, sizeof view->name);
    view->public.size = sizeof view->public;
    view->public.pool = pool->face;
    view->public.name = view->name;
    view->public.stats = &view->figures.stats;
    view->public.flags = pool->flags & ~CPOOL_CLIENT_RESERVED;
    view->public.kind = (pool->typed != NULL ? CPOOL_VIEW_TYPED : 0u) |
                        (pool->region_owned ? 0u : CPOOL_VIEW_CALLERS) |
                        (pool->client != NULL ? pool->client->kind : 0u);
    view->public.first = (void *)pool->slab.base;
    view->public.slots = pool->slab.slots;
    view->public.number = client != NULL && !client->sums ? client->number : pool->number;
    view->public.owner = client != NULL ? client->owner : NULL;
}

bool cpi_view_read(struct cpi_view *view, size_t number)
{
    struct cpi_pool *pool = NULL;

    cpi_lock();
    if (number < cpi_handle_count())
        pool = cpi_handles()->handles[number].state;
    if (pool != NULL)
        fill_view(view, pool);
    cpi_unlock();
    return pool != NULL;
}

/* With the lock held. */
static void fill_client_view(struct cpi_view *view, const cpool_client_t *client)
{
    memset(view, 0, sizeof *view);
    if (client->face != NULL)
        fill_view(view, client->pool->state);
    if (client->sums) {
        memset(&view->figures, 0, sizeof view->figures);
        client->figures(client->owner, &view->figures.stats);
        view->public.pool = NULL;
        view->public.first = NULL;
        view->public.slots = 0;
    }
    cpi_text_copy(view->name, sizeof view->name, client->name);
    view->figures.stats.size = sizeof view->figures.stats;
    view->public.size = sizeof view->public;
    view->public.name = view->name;
    view->public.stats = &view->figures.stats;
    view->public.kind |= client->kind;
    view->public.number = client->number;
    view->public.owner = client->owner;
}

/* Reads the first client with a number of at least *from, and below `end`.  Sets *from to the next
 * number.  Returns false if there is no such client. */
static bool read_client(struct cpi_view *view, uint64_t *from, uint64_t end)
{
    const cpool_client_t *client;

    cpi_lock();
    client = cpi_clients;
    while (client != NULL && (client->number < *from || client->kind == 0))
        client = client->next;
    if (client != NULL && client->number >= end)
        client = NULL;
    if (client != NULL) {
        fill_client_view(view, client);
        *from = client->number + 1;
    }
    cpi_unlock();
    return client != NULL;
}

size_t cpool_each(cpool_visit_t visit, void *arg)
{
    struct cpi_view view;
    uint64_t from = 0;
    uint64_t end;
    size_t visited = 0;
    bool goes_on = true;

    cpi_lock();
    end = cpi_pools_created; /* a visit that creates clients ends */
    cpi_unlock();
    for (size_t i = 1; i < cpi_handle_count() && goes_on; i++)
        if (cpi_view_read(&view, i) && (view.public.kind & CPI_CLIENTS) == 0) {
            visited++;
            goes_on = visit(&view.public, arg);
        }
    while (goes_on && read_client(&view, &from, end)) {
        visited++;
        goes_on = visit(&view.public, arg);
    }
    return visited;
}
