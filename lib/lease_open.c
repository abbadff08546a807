/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_open.c - opening a lease, joining it, and forgetting it.
 *
 * Floor 5.  Implements a part of lease.h.
 *
 * ORDERING TABLE
 *   chain | rest and top store      | release | the child of a fork | that there are none
 */
#include "lease.h"

#include "atomic.h"
#include "thread.h"

void cpi_lease_add(struct cpi_lease *lease, struct cpi_cache *cache)
{
    struct cpi_leased *leased = &cache->leased;

    CPI_ASSERT(cpi_lock_is_held() && leased->lease == NULL);
    leased->lease = lease;
    leased->filled = 0;
    leased->length = 0;
    cpi_store(&leased->rest, 0, release); /* [chain] */
    cpi_store(&leased->top, 0, release); /* [chain] */
    leased->next = lease->caches;
    if (leased->next != NULL)
        leased->next->leased.link = &leased->next;
    leased->link = &lease->caches;
    lease->caches = cache;
}

void cpi_lease_remove(struct cpi_cache *cache)
{
    struct cpi_leased *leased = &cache->leased;

    CPI_ASSERT(cpi_lock_is_held() && *leased->link == cache);
    *leased->link = leased->next;
    if (leased->next != NULL)
        leased->next->leased.link = leased->link;
    leased->lease = NULL;
}

bool cpi_lease_open(struct cpi_lease *lease, struct cpi_registry *registry, cpool_t *handle)
{
    lease->registry = registry;
    lease->caches = NULL;
    lease->handle = handle;
    cpi_swaps_init(&lease->swaps);
    lease->common = cpi_registry_add_leased(registry, lease, NULL);
    if (lease->common == NULL) {
        cpi_lease_forget(lease);
        return false;
    }
    cpi_handle_set_lease(handle, (uintptr_t)lease);
    return true;
}

void cpi_lease_forget(struct cpi_lease *lease)
{
    CPI_ASSERT(cpi_lock_is_held() && lease->caches == NULL);
    cpi_swaps_fini(&lease->swaps);
    cpi_handle_give(lease->handle, CPI_HANDLE_LEASE);
    lease->handle = NULL;
}

struct cpi_cache *cpi_lease_join(struct cpi_lease *lease, const cpool_t *handle)
{
    struct cpi_cache *cache = NULL;
    struct cpi_thread *thread;

    if (!cpi_thread_may_ask())
        return NULL;
    thread = cpi_thread_self();
    if (thread != NULL) {
        cpi_lock();
        cache = cpi_thread_entry(handle)->home;
        if (cache == NULL && cpi_lease_is_open(lease, handle))
            cache = cpi_registry_add_leased(lease->registry, lease, thread);
        cpi_unlock();
    }
    if (cache == NULL)
        cpi_thread_refused();
    return cache;
}
