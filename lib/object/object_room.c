/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_room.c - how many objects there may be, and how many of them may be inactive.
 *
 * ORDERING TABLE
 *   room   | capacity and objects, load and CAS | relaxed | - | -
 *   count  | room CAS that counts an object in  | acquire | uncount | the slot that was given up
 *   uncount | room CAS that counts an object out | release | count | the slot that was given up
 *   full   | room load                   | acquire | object_resize.c's lower, uncount |
 *                                                    that the pool was shrunk
 *   shrunk | shrunk load after [full]    | relaxed | - | -
 *   failed | CAS failure                 | relaxed | - | -
 *   peak   | peak load, CAS              | relaxed | - | -
 *   place  | inactive load, CAS | relaxed | - | -
 *
 * A thread that has counted an object relies on a slot that another one gave up before it
 * counted its own out.  Read-modify-writes of the room between the two go on with the release.
 */
#include "object/object.h"

#include "base/atomic.h"

/* --- Capacity --- */

/* Objects by which a dry pool grows. */
static uintptr_t step_of(const cpool_objects_t *pool, uintptr_t capacity)
{
    uint64_t step = pool->max; /* where the product is too large */

    if (pool->growth == 0 && pool->percent == 0)
        return 0;
    if (capacity == 0 || pool->percent <= UINT64_MAX / capacity)
        step = (uint64_t)capacity * pool->percent / 100;
    if (step < pool->growth)
        step = pool->growth;
    if (step == 0)
        step = 1;
    return step < pool->max - capacity ? (uintptr_t)step : pool->max - capacity;
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

bool cpi_object_is_full(const cpool_objects_t *pool, uint64_t objects)
{
    uint64_t room = cpi_load(&pool->room, acquire); /* [full] */
    uintptr_t capacity = CPI_ROOM_CAPACITY(room);

    return objects >= CPI_ROOM_OBJECTS(room) && CPI_ROOM_OBJECTS(room) >= capacity &&
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
