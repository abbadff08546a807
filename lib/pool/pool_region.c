/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_region.c - the regions of destroyed pools, a few of which are kept for the next ones.
 *
 * ORDERING TABLE
 *   kept   | kept exchange        | acq_rel | kept | what lies in the region
 *   count  | times, calls         | relaxed | - | -
 */
#include "pool/pool_create.h"

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "host/os.h"

/* How many are kept, the most bytes of one, and of slots that were handed out in it. */
#define CPI_KEPT 8u
#define CPI_KEPT_REGION ((size_t)2 * 1024 * 1024)
#define CPI_KEPT_SLOTS ((size_t)64 * 1024)

/* At a kept region's start.  All else that a pool relies on is zero. */
struct cpi_kept {
    size_t size;     /* of the region, bytes */
    size_t slots_at; /* in it.  The two tell where the traps are */
};

static _Atomic(struct cpi_kept *) kept[CPI_KEPT];

/* Returns true if another one was there. */
CPI_COLD static bool replace(unsigned i, struct cpi_kept *region)
{
    struct cpi_kept *before = cpi_exchange(&kept[i], region, acq_rel); /* [kept] */

    if (before != NULL)
        cpi_os_release(before, before->size);
    return before != NULL;
}

CPI_COLD bool cpi_region_keep(struct cpi_pool *pool)
{
    static _Atomic unsigned times;
    const struct cpi_slab *slab = &pool->slab;
    size_t fresh = cpi_slab_fresh(slab);
    size_t made = cpi_registry_bytes(cpi_registry_made(&pool->registry), pool->registry.quota_max);
    char *start = pool->region;
    struct cpi_kept region = {pool->region_size, (size_t)(slab->extent.base - start)};
    size_t slots = cpi_align_up(slab->lead + fresh * slab->stride, cpi_os_page_size());
    unsigned i;

    /* A program may have protected pages. */
    if (region.size > CPI_KEPT_REGION || fresh * slab->stride > CPI_KEPT_SLOTS || slab->dirty ||
        pool->checked || pool->tools != 0 || !cpi_os_commit(slab->extent.base, slots))
        return false;
    for (i = 0; i < CPI_SIDES; i++)
        if (slab->sides[i].size != 0)
            memset(slab->sides[i].extent.base, 0, fresh * slab->sides[i].size);
    memset((void *)slab->base, 0, fresh * slab->stride);
    cpi_depot_wipe(&pool->depot);
    memset(start, 0, (size_t)(pool->registry.caches.base - start) + made);
    *(struct cpi_kept *)(void *)start = region;
    (void)replace(cpi_fetch_add(&times, 1u, relaxed) % CPI_KEPT, (void *)start); /* [count] */
    return true;
}

CPI_COLD void *cpi_region_take(size_t size, size_t slots_at)
{
    unsigned i;

    for (i = 0; i < CPI_KEPT; i++) {
        struct cpi_kept *region = cpi_exchange(&kept[i], NULL, acq_rel); /* [kept] */

        if (region != NULL && region->size == size && region->slots_at == slots_at) {
            memset(region, 0, sizeof *region);
            return region;
        }
        if (region != NULL)
            (void)replace(i, region);
    }
    return NULL;
}

CPI_COLD bool cpi_region_release_all(void)
{
    bool any = false;
    unsigned i;

    for (i = 0; i < CPI_KEPT; i++)
        any = replace(i, NULL) || any;
    return any;
}

__attribute__((__destructor__(101))) static void library_unloaded(void)
{
    (void)cpi_region_release_all();
}

void cpi_pool_note_calls(struct cpi_pool *pool, uint64_t calls)
{
    cpi_fetch_add(&pool->maintenance.calls, calls, relaxed); /* [count] */
}
