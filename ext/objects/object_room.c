/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_room.c - how many objects there may be and how many of them inactive, raising and lowering
 * these numbers, and figures.
 *
 * ORDERING TABLE
 *   room   | capacity and objects, load and CAS | relaxed | - | -
 *   count  | room CAS that counts an object in  | acquire | uncount | the slot that was given up
 *   uncount | room CAS that counts an object out | release | count | the slot that was given up
 *   full   | room load                   | acquire | lower, uncount | that the pool was shrunk
 *   lower  | room CAS that lowers the capacity alone | release | full | [shrunk]
 *   shrunk | shrunk store, and load after [full] | relaxed | - | -
 *   failed | CAS failure                 | relaxed | - | -
 *   peak   | peak load, CAS              | relaxed | - | -
 *   place  | inactive load, CAS          | relaxed | - | -
 *   used   | active load                 | acquire | object.c's use | that the object exists
 *   figure | counters, room load         | relaxed | - | -
 *
 * A thread that has counted an object relies on a slot that another one gave up before it
 * counted its own out.  Read-modify-writes of the room between the two go on with the release.
 */
#include "objects/object.h"

/* --- Capacity --- */

/* Objects by which a dry pool grows. */
static uintptr_t step_of(const cpool_objects_t *pool, uintptr_t capacity)
{
    return pool->growth < pool->max - capacity ? pool->growth : pool->max - capacity;
}

bool cpi_object_count_in(cpool_objects_t *pool, bool grows, size_t *more)
{
    uint64_t room = cpi_load(&pool->room, relaxed); /* [room] */
    uintptr_t objects;
    uintptr_t step;

    do {
        objects = CPI_ROOM_OBJECTS(room);
        step = 0;
        if (objects >= CPI_ROOM_CAPACITY(room)) {
            step = grows ? step_of(pool, CPI_ROOM_CAPACITY(room)) : 0;
            if (step == 0)
                return false;
        }
    } while (!cpi_cas_weak(&pool->room, &room, room + CPI_ROOM(step, 1), /* [count] [failed] */
                           acquire, relaxed));
    *more = step > 0 ? step - 1 : 0;
    if ((pool->flags & CPOOL_OBJECT_COUNTED) == 0 || cpi_object_is_fake(pool))
        cpi_raise(&pool->peak, (uint64_t)objects + 1, relaxed); /* [peak] [failed] */
    return true;
}

bool cpi_object_is_used_up(const cpool_objects_t *pool)
{
    uint64_t active = cpi_load(&pool->active, acquire); /* [used] */
    uint64_t room = cpi_load(&pool->room, acquire); /* [full] */
    uintptr_t capacity = CPI_ROOM_CAPACITY(room);

    return active >= CPI_ROOM_OBJECTS(room) && CPI_ROOM_OBJECTS(room) >= capacity &&
           step_of(pool, capacity) == 0 && !cpi_load(&pool->shrunk, relaxed); /* [shrunk] */
}

void cpi_object_count_out(cpool_objects_t *pool, uintptr_t less)
{
    uint64_t room = cpi_load(&pool->room, relaxed); /* [room] */

    while (!cpi_cas_weak(&pool->room, &room, room - CPI_ROOM(less, 1), /* [uncount] */
                         release, relaxed)) /* [failed] */
        CPI_ASSERT(CPI_ROOM_OBJECTS(room) > 0);
}

bool cpi_object_has_room(const cpool_objects_t *pool)
{
    uint64_t room = cpi_load(&pool->room, relaxed); /* [room] */

    return CPI_ROOM_OBJECTS(room) < CPI_ROOM_CAPACITY(room) ||
           step_of(pool, CPI_ROOM_CAPACITY(room)) > 0;
}

/* --- Inactive objects --- */

bool cpi_object_take_place(cpool_objects_t *pool)
{
    uint64_t inactive;

    if (pool->max_inactive == 0)
        return true;
    inactive = cpi_load(&pool->inactive, relaxed); /* [place] */
    do {
        if (inactive >= pool->max_inactive)
            return false;
    } while (!cpi_cas_weak(&pool->inactive, &inactive, inactive + 1, /* [place] [failed] */
                           relaxed, relaxed));
    return true;
}

/* --- Raising and lowering the number of objects --- */

/* Raises the capacity by up to n objects. */
static size_t raise_capacity(cpool_objects_t *pool, size_t n)
{
    uint64_t room = cpi_load(&pool->room, relaxed); /* [room] */
    uintptr_t more;

    do {
        more = pool->max - CPI_ROOM_CAPACITY(room);
        if (more > n)
            more = n;
    } while (!cpi_cas_weak(&pool->room, &room, room + CPI_ROOM(more, 0), /* [room] [failed] */
                           relaxed, relaxed));
    cpi_object_offer_some(pool, more);
    return more;
}

/* Lowers the capacity where no objects are. */
static size_t lower_unused(cpool_objects_t *pool, size_t n)
{
    uint64_t room = cpi_load(&pool->room, relaxed); /* [room] */
    uintptr_t less;

    do {
        less = CPI_ROOM_CAPACITY(room) - CPI_ROOM_OBJECTS(room);
        if (less > n)
            less = n;
    } while (!cpi_cas_weak(&pool->room, &room, room - CPI_ROOM(less, 0), /* [lower] [failed] */
                           release, relaxed));
    return less;
}

static size_t drop_inactive(cpool_objects_t *pool, size_t n)
{
    size_t dropped = 0;
    size_t passed = 0;
    uintptr_t index;

    while (dropped < n && (index = cpi_object_take_inactive(pool, NULL, false, &passed)) !=
                              CPI_OBJECT_NONE) {
        cpi_object_leave_place(pool);
        cpi_object_unmake(pool, index);
        cpi_object_vacate(pool, index);
        cpi_object_count_out(pool, 1);
        dropped++;
    }
    cpi_object_offer_some(pool, passed); /* for the threads that wait */
    return dropped;
}

/* In a priority pool the least important ones go first. */
static size_t drop_active(cpool_objects_t *pool, size_t n)
{
    uintptr_t index, at = 0;
    size_t dropped;

    for (dropped = 0; dropped < n; dropped++) {
        index = cpi_object_seize_next(pool, pool->priorities != NULL, &at);
        if (index == CPI_OBJECT_NONE)
            break;
        cpi_object_end(pool, index);
        cpi_object_vacate(pool, index);
        cpi_object_count_out(pool, 1);
    }
    return dropped;
}

static size_t lower_capacity(cpool_objects_t *pool, size_t n, unsigned flags)
{
    size_t before, lowered = 0;

    cpi_store(&pool->shrunk, true, relaxed); /* [shrunk] */
    do {
        before = lowered;
        lowered += lower_unused(pool, n - lowered);
        lowered += drop_inactive(pool, n - lowered);
        if ((flags & CPOOL_OBJECT_ACTIVE_TOO) != 0)
            lowered += drop_active(pool, n - lowered);
    } while (lowered != before); /* an object's hook may have put others */
    if (pool->growth != 0)
        cpi_object_offer_some(pool, lowered);
    return lowered;
}

size_t cpool_objects_resize(cpool_objects_t *pool, ptrdiff_t by, unsigned flags)
{
    size_t done;

    if (CPI_ENDED(pool))
        return 0;
    if ((flags & ~CPOOL_OBJECT_ACTIVE_TOO) != 0) {
        cpi_object_report(CPOOL_EFLAGS, "cpool_objects_resize", pool, NULL);
        return 0;
    }
    if (by > 0)
        return raise_capacity(pool, (size_t)by);
    done = by < 0 ? lower_capacity(pool, 0 - (size_t)by, flags) : 0;
    cpi_object_trim(pool);
    return done;
}

/* Creates one inactive object, within the capacity.  Returns 0 or a code. */
static int add_one(cpool_objects_t *pool)
{
    uintptr_t index;
    size_t more;
    int code;

    if (!cpi_object_count_in(pool, false, &more))
        return CPOOL_EDRY;
    index = cpi_object_find_slot(pool);
    if (index == CPI_OBJECT_NONE)
        return cpi_object_has_lost(pool) ? CPOOL_EDRY : CPOOL_ENOMEM;
    if (cpi_object_state(pool, index) != CPI_OBJECT_VACANT) {
        cpool_free(pool->pool, cpool_at(pool->pool, index)); /* as it was found */
        return CPOOL_EDRY;
    }
    code = cpi_object_make(pool, index);
    if (code == 0)
        cpi_object_shelve(pool, index, CPI_OBJECT_NEW);
    return code;
}

/* Takes back the offers that lie in front of the inactive objects. */
static void withdraw_offers(cpool_objects_t *pool)
{
    size_t passed = 0;
    uintptr_t index = cpi_object_take_inactive(pool, NULL, false, &passed);

    if (index != CPI_OBJECT_NONE)
        cpool_free(pool->pool, cpool_at(pool->pool, index)); /* as it was found */
}

size_t cpool_objects_populate(cpool_objects_t *pool, size_t n, int *code)
{
    int result = 0;
    size_t made;

    if (code != NULL)
        *code = CPOOL_EPOOL;
    if (CPI_ENDED(pool))
        return 0;
    if ((pool->flags & CPOOL_OBJECT_WAITABLE) != 0)
        withdraw_offers(pool);
    for (made = 0; made < n && !cpi_object_is_fake(pool); made++) {
        if (!cpi_object_take_place(pool)) {
            result = CPOOL_EDRY;
            break;
        }
        result = add_one(pool);
        if (result != 0) {
            cpi_object_leave_place(pool);
            break;
        }
    }
    cpi_object_offer_rest(pool);
    if (code != NULL)
        *code = result;
    return made;
}

/* --- Figures --- */

static size_t positive(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

size_t cpi_object_in_pool(const cpool_objects_t *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    (void)cpool_read_stats(pool->pool, &stats);
    return positive(stats.circulating, stats.live);
}

static size_t count_inactive(const cpool_objects_t *pool)
{
    if (pool->max_inactive != 0)
        return (size_t)cpi_load(&pool->inactive, relaxed); /* [figure] */
    return positive(cpi_object_in_pool(pool),
                    (size_t)cpi_load(&pool->offered, relaxed)); /* [figure] */
}

int cpool_objects_read_stats(const cpool_objects_t *pool, cpool_objects_stats_t *given)
{
    cpool_objects_stats_t stats;
    uint64_t room;

    if (pool == NULL || given == NULL)
        return CPOOL_ENULL;
    if (CPI_ENDED(pool))
        return CPOOL_EPOOL;
    if (cpi_given_size(given) == 0)
        return CPOOL_ESTRUCT;
    room = cpi_load(&pool->room, relaxed); /* [figure] */
    stats.capacity = CPI_ROOM_CAPACITY(room);
    stats.objects = CPI_ROOM_OBJECTS(room);
    if (cpi_object_is_fake(pool) || (pool->flags & CPOOL_OBJECT_COUNTED) != 0) {
        stats.active = stats.objects;
        if ((pool->flags & CPOOL_OBJECT_COUNTED) != 0)
            stats.active = (size_t)cpi_load(&pool->active, relaxed); /* [figure] */
        stats.inactive = positive(stats.objects, stats.active);
    } else {
        stats.inactive = count_inactive(pool);
        if (stats.inactive > stats.objects)
            stats.inactive = stats.objects;
        stats.active = stats.objects - stats.inactive;
    }
    stats.available = positive(pool->growth != 0 ? pool->max : stats.capacity, stats.objects);
    if (!cpi_object_is_fake(pool))
        stats.available += stats.inactive;
    stats.max_capacity = pool->max;
    stats.peak = (size_t)cpi_load(&pool->peak, relaxed);        /* [figure] */
    stats.creations = cpi_load(&pool->creations, relaxed);      /* [figure] */
    stats.destructions = cpi_load(&pool->destructions, relaxed); /* [figure] */
    stats.hook_failures = cpi_load(&pool->failures, relaxed);        /* [figure] */
    return cpi_given_write(given, &stats, sizeof stats);
}

void cpi_object_fake_figures(const void *fake, cpool_stats_t *stats)
{
    const cpool_objects_t *pool = fake;
    cpool_objects_stats_t objects = CPOOL_OBJECTS_STATS_INIT;

    (void)cpool_objects_read_stats(pool, &objects);
    stats->capacity = objects.capacity;
    stats->max_capacity = objects.max_capacity;
    stats->live = objects.active;
    stats->free = positive(objects.capacity, objects.active);
    stats->slot_size = pool->type.object_size;
    stats->slot_stride = pool->type.object_size;
    stats->peak = objects.peak;
    stats->average = objects.active;
    stats->failures = cpi_load(&pool->misses, relaxed); /* [figure] */
}

void cpi_object_correct_figures(const void *slots, cpool_stats_t *stats)
{
    const cpool_objects_t *pool = slots;
    size_t objects = CPI_ROOM_OBJECTS(cpi_load(&pool->room, relaxed));      /* [figure] */
    size_t offered = (size_t)cpi_load(&pool->offered, relaxed);             /* [figure] */

    stats->live = positive(stats->live + objects + offered, stats->circulating);
    stats->free = positive(stats->capacity, stats->live);
    stats->failures = cpi_load(&pool->misses, relaxed); /* [figure] */
}
