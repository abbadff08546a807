/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_reserve.c - making slots resident before they are needed.
 *
 * The next n allocs find slots that were handed out before, or up to n fresh ones.  So all
 * slots below the watermark become resident, and n above it.  The system populates a range
 * without changing a byte in it, whoever owns the slots.
 *
 * ORDERING TABLE
 *   touch | bytes of a pool's memory fetch-and-add of 0 | relaxed | - | -
 *
 * [touch] changes nothing, and cannot undo what another thread does to the same byte.
 */
#include "pool/pool_alloc.h"
#include "pool/pool_info.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "base/tools.h"
#include "host/os.h"

struct residence {
    bool by_touch;  /* the system cannot populate */
    uint64_t calls; /* requests to the operating system */
};

/* The pages of [from, to), and no byte outside it.  False if the system has no memory. */
CPI_UNINSTRUMENTED static bool make_resident(struct residence *residence, uintptr_t from,
                                             uintptr_t to)
{
    size_t page = cpi_os_page_size();

    if (!residence->by_touch) {
        from = cpi_align_down(from, page);
        residence->calls++;
        return cpi_os_populate((void *)from, cpi_align_up(to, page) - from);
    }
    cpi_tools_pause();
    for (; from < to; from = cpi_align_down(from, page) + page)
        (void)cpi_fetch_add((volatile _Atomic unsigned char *)from, 0, relaxed); /* [touch] */
    cpi_tools_resume();
    return true;
}

/* Slots that are pages apart one by one, because the pages between are not wanted. */
static bool make_slots_resident(const struct cpi_slab *slab, uintptr_t end,
                                struct residence *residence)
{
    uintptr_t step = slab->stride - slab->slot_size < cpi_os_page_size() ? end : 1;
    uintptr_t first;

    for (first = 0; first < end; first += step) {
        uintptr_t last = (uintptr_t)cpi_slab_slot(slab, first + step - 1);

        if (!make_resident(residence, (uintptr_t)cpi_slab_slot(slab, first),
                           last + slab->slot_size))
            return false;
    }
    return true;
}

static bool make_sides_resident(const struct cpi_slab *slab, uintptr_t end,
                                struct residence *residence)
{
    unsigned i;

    for (i = 0; i < CPI_SIDES; i++) {
        uintptr_t start = (uintptr_t)slab->sides[i].extent.base;

        if (slab->sides[i].size != 0 &&
            !make_resident(residence, start, start + end * slab->sides[i].size))
            return false;
    }
    return true;
}

/* Commits and populates.  A cache takes a whole run of fresh slots, of which the lowest go out
 * first, but the gaps of a checked pool are filled in all of it. */
static bool draw(struct cpi_pool *pool, size_t n, struct residence *residence)
{
    struct cpi_slab *slab = &pool->slab;
    uintptr_t end = cpi_slab_fresh(slab) + n;
    uintptr_t run = end + pool->depot.limit;

    if (run > slab->slots)
        run = slab->slots;
    if (end > run || slab->bumped != NULL)
        end = run;
    return cpi_depot_provide(&pool->depot, run) && cpi_slab_provide(slab, run) &&
           make_slots_resident(slab, end, residence) && make_sides_resident(slab, end, residence);
}

/* Raises the capacity so that n more slots may be live. */
static int make_room(struct cpi_pool *pool, size_t n)
{
    size_t live;
    size_t capacity;

    cpi_lock();
    live = cpi_pool_count_live(pool);
    cpi_unlock();
    if (live > pool->slab.slots || n > pool->slab.slots - live)
        return CPOOL_EDRY;
    capacity = cpi_slab_capacity(&pool->slab);
    if (live + n > capacity && cpool_grow(pool->handle, live + n - capacity) == 0 &&
        cpi_slab_capacity(&pool->slab) < live + n) /* or another thread has raised it */
        return CPOOL_ENOMEM;
    return 0;
}

/* The first alloc is to find a cache that is registered and has a full magazine. */
static void warm(struct cpi_pool *pool, struct cpi_call call)
{
    struct cpi_cache *cache = cpi_registry_own_cache(&pool->registry);
    void *slot = cpi_pool_alloc(pool, cache, call);

    if (slot != NULL)
        cpi_pool_free(pool, cache, slot, call);
}

int cpool_reserve(cpool_t *handle, size_t n)
{
    static const char function[] = "cpool_reserve";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    struct residence residence = {false, 0};
    int code;

    if (pool == NULL)
        return CPOOL_EPOOL;
    if (n == 0)
        return 0;
    code = make_room(pool, n);
    residence.by_touch = !cpi_os_can_populate(&residence.calls);
    if (code == 0 && !draw(pool, n, &residence))
        code = CPOOL_ENOMEM;
    if (code == 0)
        warm(pool, CPI_CALL(function));
    cpi_pool_note_calls(pool, residence.calls);
    return code;
}
