/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.c - giving memory back, shrinking and growing, and making slots resident before they are
 * needed.
 */
#include "pool/alloc.h"

#include "base/bits.h"

/* --- Draining ---
 *
 *     depot                drain                    depot
 *     M  M  M  partial     1 1 0 1 1 1 0 0 1 ...    M  M  M  partial
 *     ---- begin ---->     a bit for each slot      ---- end ---->
 *
 * A draining thread fills the magazines again from the highest slots down, so that the lowest slots
 * will be handed out first.  doc/CONCURRENCY.md 3.8 has the rest.
 *
 * Invariants
 * A marked slot lies below `slots`, and the drain holds it until it is given back.  The emptied
 * magazines that are kept have room for all marked slots, but are no more than needed, because
 * concurrent frees need empty magazines, too.
 */

struct drain {
    struct cpi_pool *pool;
    struct cpi_uncached uncached;
    struct cpi_tagstack magazines; /* emptied ones, as many as the slots will fill */
    uintptr_t held;                /* the number of these magazines */
    uint64_t *marks;               /* bit i: slot i was found in the depot */
    size_t wrong;                  /* slots found twice, or above the watermark */
    size_t size;                   /* bytes of the bitmap */
    uintptr_t slots;               /* end of the range that must still be given back */
    uintptr_t marked;              /* marked slots in it that are not given back yet */
    uint32_t filling;              /* the magazine being filled, or 0 */
};

/* Bytes of slots that are purged and given back at a time, so that others wait for one portion
 * only. */
#define CPI_PORTION ((size_t)4 * 1024 * 1024)

/* --- Taking --- */

static void empty_magazine(struct drain *drain, uint32_t node)
{
    struct cpi_pool *pool = drain->pool;
    struct cpi_magazine *magazine = cpi_depot_magazine(&pool->depot, node);
    uint32_t count = cpi_magazine_count(magazine);
    uintptr_t fresh = cpi_slab_fresh(&pool->slab);

    for (uint32_t i = 0; i < count; i++) {
        uintptr_t index = cpi_slab_index(&pool->slab, magazine->rounds[i]);

        if (CPI_UNLIKELY(index >= fresh || cpi_bitmap_is_set(drain->marks, index))) {
            drain->wrong++;
            continue;
        }
        cpi_bitmap_set(drain->marks, index);
        drain->marked++;
    }
    cpi_magazine_set_count(magazine, 0);
    if (drain->held * pool->depot.limit >= drain->marked) {
        cpi_depot_give(&pool->depot, &drain->uncached.counters, node);
        return;
    }
    cpi_tagstack_push(&drain->magazines, &pool->depot.links, node);
    drain->held++;
}

/* Takes the lock, and all slots of the depot.  Returns false, and does nothing, if there is no
 * memory for the bitmap. */
static bool begin_drain(struct drain *drain, struct cpi_pool *pool)
{
    unsigned times = 0;
    uint32_t node;

    *drain = (struct drain){.pool = pool};
    /* Slots that others take and free in the meantime may turn up, too. */
    drain->size = (pool->slab.slots / CPI_WORD_BITS + 1) * sizeof(uint64_t);
    cpi_pool_note_calls(pool, 1);
    drain->marks = cpi_os_map(drain->size);
    if (drain->marks == NULL)
        return false;
    cpi_lock();
    /* While too many operations are in flight, one may be in a function that takes the lock. */
    while (!cpi_depot_try_enter(&pool->depot, &drain->uncached)) {
        cpi_unlock();
        cpi_os_back_off(times++);
        cpi_lock();
    }
    cpi_depot_turn_drain(&pool->depot);
    CPI_ASSERT(cpi_lock_is_held() && cpi_depot_drains(&pool->depot) % 2 != 0);
    while ((node = cpi_depot_take_stocked(&pool->depot, &drain->uncached.counters)) != 0 ||
           (node = cpi_depot_take_partial(&pool->depot, &drain->uncached.counters)) != 0)
        empty_magazine(drain, node);
    drain->slots = cpi_slab_fresh(&pool->slab);
    return true;
}

/* --- Giving back --- */

/* Only the first magazine, which gets the highest slots, may be less than full. */
static void give_marked(struct drain *drain, uintptr_t index)
{
    struct cpi_depot *depot = &drain->pool->depot;
    struct cpi_magazine *magazine;
    uint32_t count;

    if (drain->filling == 0)
        drain->filling = cpi_tagstack_pop(&drain->magazines, &depot->links);
    magazine = cpi_depot_magazine(depot, drain->filling);
    count = cpi_magazine_count(magazine);
    magazine->rounds[count] = cpi_slab_slot(&drain->pool->slab, index);
    cpi_magazine_set_count(magazine, count + 1);
    if (--drain->marked % depot->limit == 0) {
        cpi_depot_give(depot, &drain->uncached.counters, drain->filling);
        drain->filling = 0;
    }
}

size_t cpi_pool_purge(struct cpi_pool *pool, uintptr_t bottom, uintptr_t first, uintptr_t end)
{
    size_t page = pool->slab.extent.page;
    uintptr_t least = cpi_align_up((uintptr_t)cpi_slab_slot(&pool->slab, bottom), page);
    uintptr_t from = cpi_align_down((uintptr_t)cpi_slab_slot(&pool->slab, first), page);
    uintptr_t to = cpi_align_down((uintptr_t)cpi_slab_slot(&pool->slab, end), page);

    if (from < least)
        from = least;
    if (to <= from)
        return 0;
    cpi_pool_note_calls(pool, 1);
    return cpi_os_purge((void *)from, to - from);
}

/* Gives the marked slots back, portion by portion from the top, each after its purge.  Returns the
 * bytes that were purged. */
static size_t give_portions(struct drain *drain, bool purges)
{
    struct cpi_pool *pool = drain->pool;
    uintptr_t portion = CPI_PORTION / pool->slab.stride + 1;
    uintptr_t above = drain->slots;
    size_t purged = 0;
    uintptr_t end;

    while ((end = cpi_bitmap_find_down(drain->marks, above, true)) > 0) {
        uintptr_t bottom = cpi_bitmap_find_down(drain->marks, end, false);

        while (end > bottom) {
            uintptr_t first = end - bottom > portion ? end - portion : bottom;

            if (purges)
                purged += cpi_pool_purge(pool, bottom, first, end);
            for (; end > first; end--)
                give_marked(drain, end - 1);
        }
        above = bottom;
    }
    return purged;
}

/* Gives everything back, releases the lock, and then reports, because a handler may use other
 * pools. */
static size_t end_drain(struct drain *drain, bool purges, const char *function)
{
    struct cpi_pool *pool = drain->pool;
    size_t purged = give_portions(drain, purges);
    uint32_t node;

    CPI_ASSERT(drain->marked == 0 && drain->filling == 0 && cpi_lock_is_held());
    while ((node = cpi_tagstack_pop(&drain->magazines, &pool->depot.links)) != 0)
        cpi_depot_give(&pool->depot, &drain->uncached.counters, node);
    cpi_depot_turn_drain(&pool->depot);
    cpi_depot_leave(&pool->depot, &drain->uncached);
    cpi_unlock();
    cpi_pool_note_calls(pool, 1);
    cpi_os_release(drain->marks, drain->size);
    if (CPI_UNLIKELY(drain->wrong != 0))
        cpi_pool_report_surplus(function, pool, drain->wrong);
    return purged;
}

/* --- Giving back memory --- */

/* Checked pools keep guard bytes between the slots, and a caller's memory is his. */
static bool may_purge(const struct cpi_pool *pool)
{
    return pool->region_owned && !pool->checked && (pool->flags & CPOOL_KEEP_PAGES) == 0;
}

size_t cpool_trim(cpool_t *handle)
{
    static const char function[] = "cpool_trim";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    struct drain drain;
    size_t purged = 0;
    unsigned begun;

    if (pool == NULL)
        return 0;
    cpool_flush(handle);
    begun = cpi_reclaim_begin(&pool->registry);
    (void)cpi_reclaim_all(&pool->registry, NULL, false);
    if (begin_drain(&drain, pool))
        purged = end_drain(&drain, may_purge(pool), function);
    cpi_reclaim_end(&pool->registry, begun);
    cpi_waiters_came(&pool->waiters);
    return purged;
}

/* --- Shrinking --- */

/* Lowers the capacity by up to n slots that were never handed out.  Returns the number. */
static size_t drop_fresh(struct cpi_pool *pool, size_t n)
{
    for (;;) {
        uint64_t bounds = cpi_slab_bounds(&pool->slab);
        uintptr_t capacity = CPI_BOUNDS_CAPACITY(bounds);
        uintptr_t fresh = CPI_BOUNDS_FRESH(bounds);
        uintptr_t keep = fresh > 0 ? fresh : 1;
        uintptr_t less = capacity > keep ? cpi_lower(capacity - keep, n) : 0;

        if (less == 0 ||
            cpi_slab_set_bounds(&pool->slab, bounds, CPI_BOUNDS(capacity - less, fresh)))
            return less;
    }
}

/* Lowers the capacity by up to n slots of a run at the very top that the drain holds.  Returns the
 * number, and sets *left to the start of the run.  Returns 0 if the run is not at the top any more,
 * because slots above it were handed out or the pool has grown. */
static size_t lower_capacity(struct drain *drain, size_t n, uintptr_t *left)
{
    struct cpi_slab *slab = &drain->pool->slab;
    uintptr_t end = drain->slots;

    for (;;) {
        uint64_t bounds = cpi_slab_bounds(slab);
        uintptr_t capacity = CPI_BOUNDS_CAPACITY(bounds);
        uintptr_t beyond = end > capacity ? end - capacity : 0;
        uintptr_t most = n < end - beyond ? n + beyond : end;
        uintptr_t run = end - cpi_bitmap_find_down(drain->marks, end, false);

        if (run == end && run > 0) /* never all slots of the pool */
            run--;
        run = cpi_lower(run, most);
        /* While there are fresh slots, the drain does not hold the topmost slots. */
        if (run <= beyond || end < capacity || CPI_BOUNDS_FRESH(bounds) != end)
            return 0;
        CPI_ASSERT(run < end && run <= most);
        *left = end - run;
        if (cpi_slab_set_bounds(slab, bounds, CPI_BOUNDS(*left, end)))
            return run - beyond;
    }
}

/* Makes the slots from `left` up fresh.  Returns false if slots above them have been handed out. */
static bool make_fresh(struct drain *drain, uintptr_t left)
{
    struct cpi_slab *slab = &drain->pool->slab;
    uint64_t bounds;

    do {
        bounds = cpi_slab_bounds(slab);
        if (CPI_BOUNDS_FRESH(bounds) != drain->slots)
            return false;
    } while (!cpi_slab_set_bounds(slab, bounds, CPI_BOUNDS(CPI_BOUNDS_CAPACITY(bounds), left)));
    return true;
}

/* Removes up to n of the topmost slots, which the drain holds, in the three steps of
 * doc/CONCURRENCY.md 3.8. */
static size_t drop_top(struct drain *drain, size_t n)
{
    struct cpi_pool *pool = drain->pool;
    uintptr_t left;
    size_t removed = lower_capacity(drain, n, &left);

    if (removed == 0)
        return 0;
    if (may_purge(pool))
        (void)cpi_pool_purge(pool, left, left, drain->slots);
    if (make_fresh(drain, left)) { /* and not given back */
        CPI_ASSERT(left <= drain->slots && drain->slots - left <= drain->marked);
        drain->marked -= drain->slots - left;
        drain->slots = left;
    }
    return removed;
}

size_t cpool_shrink(cpool_t *handle, size_t n)
{
    static const char function[] = "cpool_shrink";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    struct drain drain;
    size_t removed;

    if (pool == NULL)
        return 0;
    removed = drop_fresh(pool, n);
    if (removed < n) {
        cpool_flush(handle);
        if (begin_drain(&drain, pool)) {
            removed += drop_top(&drain, n - removed);
            (void)end_drain(&drain, false, function);
        }
    }
    cpi_waiters_came(&pool->waiters);
    return removed;
}

/* --- Growing --- */

/* Raises the capacity by up to n slots, after committing their memory. */
static size_t raise_capacity(struct cpi_pool *pool, size_t n)
{
    uint64_t bounds;
    uintptr_t capacity;
    uintptr_t more;

    do {
        bounds = cpi_slab_bounds(&pool->slab);
        capacity = CPI_BOUNDS_CAPACITY(bounds);
        more = cpi_lower(pool->slab.slots - capacity, n);
        if (more == 0 || !cpi_depot_provide(&pool->depot, capacity + more) ||
            !cpi_slab_provide(&pool->slab, capacity + more))
            return 0;
        CPI_ASSERT(capacity + more <= pool->slab.slots);
    } while (!cpi_pool_raise(pool, bounds, more));
    return more;
}

size_t cpool_grow(cpool_t *handle, size_t n)
{
    struct cpi_pool *pool = cpi_pool_of(handle, "cpool_grow");
    size_t more = pool != NULL ? raise_capacity(pool, n) : 0;

    if (more > 0)
        cpi_waiters_came(&pool->waiters);
    return more;
}

/* --- Reserving ---
 *
 * The next n allocs get slots that were handed out before, or up to n fresh ones.  So all slots
 * below the watermark are made resident, and n above it.  The system can populate a range without
 * changing a byte in it, no matter who owns the slots. */

/* Commits and populates.  A cache takes a whole run of fresh slots, of which the lowest go out
 * first, but the gaps of a checked pool are filled in all of it. */
static bool provide_resident(struct cpi_pool *pool, size_t n)
{
    struct cpi_slab *slab = &pool->slab;
    uintptr_t end = cpi_slab_fresh(slab) + n;
    uintptr_t run = cpi_lower(end + pool->depot.limit, slab->slots);

    if (end > run || slab->bumped != NULL)
        end = run;
    return cpi_pool_provide(pool, run, end);
}

/* Raises the capacity so that n more slots may be live. */
static int make_room(struct cpi_pool *pool, size_t n)
{
    size_t live = cpi_registry_count_live(&pool->registry);
    size_t capacity;

    if (live > pool->slab.slots || n > pool->slab.slots - live)
        return CPOOL_EDRY;
    capacity = cpi_slab_capacity(&pool->slab);
    if (live + n > capacity && cpool_grow(pool->handle, live + n - capacity) == 0 &&
        cpi_slab_capacity(&pool->slab) < live + n) /* another thread may have raised it */
        return CPOOL_ENOMEM;
    return 0;
}

/* Makes sure that the first alloc finds a registered cache with a full magazine. */
static void warm_cache(struct cpi_pool *pool, struct cpi_call call)
{
    struct cpi_cache *cache = cpi_registry_own_cache(&pool->registry);
    void *slot = cpi_pool_alloc(pool, cache, call);

    if (slot == NULL)
        return;
    cpi_pool_mend_slot(pool, slot, call.function);
    cpi_pool_free(pool, cache, slot, call);
}

int cpool_reserve(cpool_t *handle, size_t n)
{
    static const char function[] = "cpool_reserve";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    int code;

    if (pool == NULL)
        return CPOOL_EPOOL;
    if (n == 0)
        return 0;
    code = make_room(pool, n);
    if (code == 0 && !provide_resident(pool, n))
        code = CPOOL_ENOMEM;
    if (code == 0)
        warm_cache(pool, CPI_CALL(function));
    return code;
}
