/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_reserve.c - making slots resident before they are needed.
 *
 * The free slots that come out next are the lowest ones in the depot, once they have
 * been drained and are in order.  Where there are too few of them, fresh ones join
 * them, a magazine at a time.  No thread is kept waiting for a page fault of another:
 * the system populates a range without changing a byte in it, for any owner of the
 * slots by then.  Where it cannot, pages are touched, of slots in hand only.
 *
 * ORDERING TABLE
 *   touch | bytes of side memory fetch-and-add of 0 | relaxed | - | -
 *
 * [touch] changes nothing, and cannot undo what another thread does to the same byte.
 */
#include "pool/pool_drain.h"
#include "pool/pool_alloc.h"
#include "pool/pool_report.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "host/os.h"
#include "cache/await.h"
#include "cache/mark.h"
#include "base/tools.h"

/* --- Making resident --- */

struct residence {
    bool by_touch;   /* the system cannot populate */
    bool refused;    /* there was no memory */
    uintptr_t above; /* slots from here on need not be */
    uint64_t calls;  /* requests to the operating system */
};

/* Each page of slots in hand.  No byte changes. */
CPI_UNINSTRUMENTED static void touch(const struct cpi_pool *pool, uintptr_t first, uintptr_t end)
{
    size_t last = pool->slab.slot_size - 1;
    size_t page = cpi_os_page_size();

    cpi_tools_pause();
    for (; first < end; first++) {
        volatile unsigned char *bytes = cpi_slab_slot(&pool->slab, first);
        size_t i;

        for (i = 0; i < last; i += page)
            bytes[i] = bytes[i];
        bytes[last] = bytes[last];
    }
    cpi_tools_resume();
}

/* Slots that are pages apart one by one, because the pages between are not wanted. */
static bool populate(const struct cpi_pool *pool, uintptr_t first, uintptr_t end,
                     uint64_t *calls)
{
    size_t page = cpi_os_page_size();
    uintptr_t step = pool->slab.stride - pool->slab.slot_size < page ? end - first : 1;

    for (; first < end; first += step) {
        uintptr_t from = (uintptr_t)cpi_slab_slot(&pool->slab, first);
        uintptr_t to = (uintptr_t)cpi_slab_slot(&pool->slab, first + step - 1);

        from = cpi_align_down(from, page);
        to = cpi_align_up(to + pool->slab.slot_size, page);
        ++*calls;
        if (!cpi_os_populate((void *)from, to - from))
            return false;
    }
    return true;
}

/* The bytes beside these slots share pages with those of slots in use. */
CPI_UNINSTRUMENTED static bool make_side_resident(const struct cpi_side *side, uintptr_t first,
                                                  uintptr_t end, struct residence *residence)
{
    size_t page = cpi_os_page_size();
    uintptr_t from = cpi_align_down((uintptr_t)side->extent.base + first * side->size, page);
    uintptr_t to = (uintptr_t)side->extent.base + end * side->size;

    if (!residence->by_touch) {
        residence->calls++;
        return cpi_os_populate((void *)from, cpi_align_up(to, page) - from);
    }
    if (from < (uintptr_t)side->extent.base)
        from = (uintptr_t)side->extent.base;
    for (; from < to; from = cpi_align_down(from, page) + page)
        (void)cpi_fetch_add((volatile _Atomic unsigned char *)from, 0, relaxed); /* [touch] */
    return true;
}

static bool make_sides_resident(const struct cpi_pool *pool, uintptr_t first, uintptr_t end,
                                struct residence *residence)
{
    unsigned i;

    for (i = 0; i < CPI_SIDES; i++) {
        const struct cpi_side *side = &pool->slab.sides[i];

        if (side->size != 0 && !make_side_resident(side, first, end, residence))
            return false;
    }
    return true;
}

static void make_resident(void *context, struct cpi_pool *pool, uintptr_t bottom, uintptr_t first,
                          uintptr_t end)
{
    struct residence *residence = context;

    (void)bottom;
    if (end > residence->above)
        end = residence->above;
    if (first >= end || residence->refused)
        return;
    if (residence->by_touch)
        touch(pool, first, end);
    else
        residence->refused = !populate(pool, first, end, &residence->calls);
    residence->refused = residence->refused || !make_sides_resident(pool, first, end, residence);
}

/* --- Slots in the depot --- */

/* Slots that may still be handed out for the first time. */
static uintptr_t never_used(const struct cpi_pool *pool)
{
    uintptr_t fresh = cpi_slab_fresh(&pool->slab);

    return fresh < pool->slab.most ? pool->slab.most - fresh : 0;
}

/* Up to n of the depot's slots, with those from other caches if it takes them.  *found
 * tells how many there were. */
static int reserve_idle(struct cpi_pool *pool, size_t n, size_t *found, struct residence *residence,
                        const char *function)
{
    struct cpi_drain drain;

    if (!cpi_drain_begin(&drain, pool))
        return CPOOL_ENOMEM;
    while (drain.marked < n && n - drain.marked > never_used(pool) &&
           cpi_pool_recall(pool, drain.uncached))
        cpi_drain_go_on(&drain);
    *found = drain.marked < n ? drain.marked : n;
    residence->above = cpi_drain_lowest(&drain, *found);
    cpi_drain_end(&drain, residence->by_touch ? make_resident : NULL, residence);
    if (!residence->by_touch)
        cpi_drain_each(&drain, residence->above, make_resident, residence);
    cpi_drain_close(&drain, function);
    return residence->refused ? CPOOL_ENOMEM : 0;
}

/* --- Fresh slots --- */

/* Bumps up to n, no more than a magazine has room for, and gives them to the depot.
 * Returns how many.  Where neither slots were handed out yet nor caches registered, there
 * is no magazine before memory is provided. */
static size_t bump_for_depot(struct cpi_pool *pool, size_t n, uintptr_t beyond,
                             struct residence *residence)
{
    struct cpi_depot *depot = &pool->depot;
    struct cpi_uncached *uncached;
    uintptr_t first;
    uint32_t node;

    if (!cpi_depot_provide(depot, cpi_slab_fresh(&pool->slab)))
        return 0;
    uncached = cpi_place_enter(&pool->registry.places);
    node = cpi_depot_take_empty(depot, &uncached->counters);
    n = node == 0 ? 0
                  : cpi_cache_bump(&pool->slab, depot, n < depot->limit ? n : depot->limit,
                                   beyond, &first);
    if (node != 0) {
        struct cpi_magazine *magazine = cpi_depot_magazine(depot, node);
        size_t i;

        if (n > 0)
            make_resident(residence, pool, first, first, first + n);
        for (i = 0; i < n; i++)
            magazine->rounds[i] = cpi_slab_slot(&pool->slab, first + n - 1 - i);
        cpi_magazine_set_count(magazine, (uint32_t)n);
        cpi_depot_give(depot, &uncached->counters, node);
    }
    cpi_place_leave(&pool->registry.places, uncached);
    return n;
}

/* Slack that the next allocs could have, in place of what is out of reach. */
static uintptr_t slack(const struct cpi_pool *pool)
{
    uintptr_t beyond = pool->slab.slots - pool->slab.most;
    uintptr_t missed = beyond == 0 ? 0 : cpi_await_out_of_reach(&pool->registry);

    return missed < beyond ? missed : beyond;
}

static int reserve_fresh(struct cpi_pool *pool, size_t n, struct residence *residence)
{
    uintptr_t beyond = 0;

    residence->above = UINTPTR_MAX;
    while (n > 0) {
        uint64_t bounds = cpi_slab_bounds(&pool->slab);
        size_t got = bump_for_depot(pool, n, beyond, residence);

        n -= got;
        if (residence->refused)
            return CPOOL_ENOMEM;
        if (got > 0 || bounds != cpi_slab_bounds(&pool->slab) || cpi_pool_grow_by_itself(pool))
            continue;
        if (CPI_BOUNDS_FRESH(bounds) < CPI_BOUNDS_CAPACITY(bounds))
            return CPOOL_ENOMEM;
        if (beyond > 0 || (beyond = slack(pool)) == 0)
            return CPOOL_EDRY;
    }
    return 0;
}

/* --- Both --- */

/* The first alloc is to find a cache that is registered and has a full magazine. */
static void warm(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call)
{
    void *slot = cpi_pool_alloc_slot(pool, cache, call);

    if (slot != NULL)
        cpi_pool_free(pool, cache, slot, call);
}

int cpool_reserve(cpool_t *handle, size_t n)
{
    static const char function[] = "cpool_reserve";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    struct residence residence = {false, false, 0, 0};
    struct cpi_cache *cache;
    size_t found;
    int code;

    if (pool == NULL)
        return CPOOL_EPOOL;
    if (n == 0)
        return 0;
    if (n > pool->slab.slots)
        return CPOOL_EDRY;
    residence.by_touch = !cpi_os_can_populate(&residence.calls);
    cache = cpi_registry_own_cache(&pool->registry);
    if (cache != NULL)
        cpi_mark_flush(cache);
    code = reserve_idle(pool, n, &found, &residence, function);
    if (code == 0)
        code = reserve_fresh(pool, n - found, &residence);
    warm(pool, cache, CPI_CALL(function));
    cpi_pool_note_calls(pool, residence.calls);
    cpi_pool_came(pool, NULL);
    return code;
}
