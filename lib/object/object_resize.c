/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_resize.c - raising and lowering the number of objects.
 *
 * ORDERING TABLE
 *   room   | capacity and objects, load and CAS | relaxed | - | -
 *   lower  | room CAS that lowers the capacity alone | release | object_room.c's full | [shrunk]
 *   shrunk | shrunk store                | relaxed | - | -
 *   failed | CAS failure                 | relaxed | - | -
 */
#include "object/object.h"

#include "base/atomic.h"

size_t cpool_object_grow(cpool_objects_t *pool, size_t n)
{
    uint64_t room = cpi_load(&pool->room, relaxed); /* [room] */
    uintptr_t more;

    if (CPI_HAS_ENDED(pool))
        return 0;
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

/* The next active object, or CPI_OBJECT_NONE.  It is seized. */
static uintptr_t seize_next(cpool_objects_t *pool, uintptr_t *at)
{
    uintptr_t reached = cpi_object_reached(pool);

    while (*at < reached)
        if (cpi_object_seize(pool, (*at)++))
            return *at - 1;
    return CPI_OBJECT_NONE;
}

/* A policy names those to go, and those that may not. */
static size_t drop_active(cpool_objects_t *pool, size_t n)
{
    uintptr_t index, at = 0;
    size_t dropped;

    for (dropped = 0; dropped < n; dropped++) {
        index = pool->policy != NULL ? pool->policy->reclaim(pool, NULL) : seize_next(pool, &at);
        if (index == CPI_OBJECT_NONE)
            break;
        cpi_object_end(pool, index, cpi_object_end_deactivates(pool));
        cpi_object_vacate(pool, index);
        cpi_object_count_out(pool, 1);
    }
    return dropped;
}

size_t cpool_object_shrink(cpool_objects_t *pool, size_t n, unsigned flags)
{
    size_t lowered;

    if (CPI_HAS_ENDED(pool))
        return 0;
    cpi_store(&pool->shrunk, true, relaxed); /* [shrunk] */
    lowered = lower_unused(pool, n);
    lowered += drop_inactive(pool, n - lowered);
    if ((flags & CPOOL_OBJECT_ACTIVE_TOO) != 0)
        lowered += drop_active(pool, n - lowered);
    if (pool->growth != 0 || pool->percent != 0)
        cpi_object_offer_some(pool, lowered);
    return lowered;
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
    if (code == 0) {
        cpi_object_shelve(pool, index, CPI_OBJECT_NEW);
        return 0;
    }
    cpi_object_give_up(pool, index);
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

size_t cpool_object_populate(cpool_objects_t *pool, size_t n, int *code)
{
    int result = 0;
    size_t made;

    if (CPI_HAS_ENDED(pool))
        return 0;
    if (cpi_object_slots_are(pool, CPOOL_WAITABLE))
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
    if (cpi_object_slots_are(pool, CPOOL_WAITABLE))
        cpi_object_offer_rest(pool);
    if (code != NULL)
        *code = result;
    return made;
}
