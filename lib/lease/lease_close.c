/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_close.c - what all threads have obtained under a lease comes together, to go back.
 *
 * ORDERING TABLE
 *   look | pending load | acquire | lease.h's marked | the slot's word and bit
 */
#include "lease/lease.h"

#include "base/atomic.h"
#include "cache/mark.h"
#include "host/os.h"
#include "host/thread.h"

static bool is_pending(const struct cpi_cache *cache)
{
    return cpi_load(&cpi_leased_of(cache)->pending, acquire); /* [look] */
}

enum locking { LOCKED, STOLEN_FROM, IN_USE };

static void unlock_until(struct cpi_cache *cache, const struct cpi_cache *end)
{
    for (; cache != end; cache = cpi_lease_next(cache))
        cpi_mark_unlock(cache);
}

/* Locks the caches of all threads for the holder of a place, or none: a stealing thread has
 * one, or its owner is inside. */
static enum locking lock_caches(const struct cpi_lease *lease, const struct cpi_uncached *place)
{
    const struct cpi_cache *own = cpi_thread_entry(lease->handle)->home;
    struct cpi_cache *first = cpi_lease_first(lease);
    struct cpi_cache *cache;
    bool others = false;

    for (cache = first; cache != NULL; cache = cpi_lease_next(cache)) {
        if (!cpi_mark_lock(cache, place)) {
            unlock_until(first, cache);
            return STOLEN_FROM;
        }
        others = others || cache != own;
    }
    if (others)
        cpi_mark_barrier(&first->registry->barriers);
    for (cache = first; cache != NULL; cache = cpi_lease_next(cache))
        /* A handler of the own thread's report may have gone elsewhere, and left it pending. */
        if (cpi_mark_is_inside(cache) || (cache != own && is_pending(cache))) {
            unlock_until(first, NULL);
            return IN_USE;
        }
    return LOCKED;
}

/* The same for a lease, for the holder of the place that is returned, or NULL: the lease has
 * ended, or is in use.  The lock is free while a stealing thread has a cache, or all places
 * have holders, because one of these threads may have to fork first, as a signal handler. */
static struct cpi_uncached *lock_lease(struct cpi_lease *lease, const cpool_t *handle)
{
    unsigned times = 0;

    for (;;) {
        enum locking locking = STOLEN_FROM;
        struct cpi_uncached *place;

        cpi_registry_await_leaving(lease->registry, false);
        if (!cpi_lease_is_open(lease, handle))
            return NULL;
        place = cpi_place_try_enter(&lease->registry->places);
        if (place != NULL)
            locking = lock_caches(lease, place);
        if (locking == LOCKED)
            return place;
        if (place != NULL)
            cpi_place_leave(&lease->registry->places, place);
        if (locking == IN_USE)
            return NULL;
        cpi_unlock();
        cpi_os_back_off(times++);
        cpi_lock();
    }
}

struct cpi_uncached *cpi_lease_collect(struct cpi_lease *lease, cpool_t *handle, bool ends)
{
    struct cpi_uncached *place = lock_lease(lease, handle);
    struct cpi_cache *cache;
    struct cpi_cache *next;

    if (place == NULL)
        return NULL;
    if (ends)
        cpi_handle_set_lease(handle, 0);
    for (cache = cpi_lease_first(lease); cache != NULL; cache = next) {
        next = cpi_lease_next(cache);
        cpi_lease_give_free(cache, &place->counters);
        cpi_lease_move_record(lease->common, cache);
        if (ends) {
            cpi_lease_unlink(cache);
            cpi_registry_end_other(lease->registry, cache);
        }
        cpi_mark_unlock(cache);
    }
    return place;
}
