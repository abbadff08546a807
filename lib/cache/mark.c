/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mark.c - the barrier between owner and stealing thread.
 *
 * ORDERING TABLE
 *   barrier | membarrier(2)       | -       | mark.h's inside, check | each side's first word
 *   shown   | entry count, loaded load | acquire | cache_edge.h's show | the mark of the owner
 *   visible | visible load        | relaxed | - | -
 *   fold    | issued fetch-and-add | relaxed | - | -
 */
#include "cache/mark.h"

#include "base/atomic.h"
#include "cache/registry.h"
#include "host/os.h"

bool cpi_mark_has_barrier;

void cpi_mark_startup(void)
{
    cpi_mark_has_barrier = cpi_os_barrier_ready();
}

void cpi_mark_barrier(_Atomic uint64_t *issued)
{
    if (!cpi_mark_has_barrier)
        return;
    cpi_fetch_add(issued, (uint64_t)1, relaxed); /* [fold] */
    cpi_os_barrier();                            /* [barrier] */
}

void cpi_mark_flush(struct cpi_cache *cache)
{
    unsigned times = 0;

    while (!cpi_mark_try_enter(cache))
        cpi_os_back_off(times++);
    cpi_cache_flush(cache);
    cpi_mark_leave(cache);
}

uintptr_t cpi_mark_shown(const struct cpi_cache *cache)
{
    const cpool_cache_t *entry = cpi_load(&cache->visible, relaxed); /* [visible] */

    if (entry == NULL && cache == cpi_registry_known_cache(cache->registry))
        entry = cpi_cache_active(cache);
    if (entry != NULL)
        return cpi_word_load(&entry->count, acquire); /* [shown] */
    return cpi_load(&cache->loaded, acquire) != 0 ? cache->depot->limit : 0; /* [shown] */
}
