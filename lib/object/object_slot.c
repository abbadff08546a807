/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_slot.c - slots as they are offered, found and given up.
 *
 * ORDERING TABLE
 *   offer  | offered fetch-and-add       | acq_rel | offer  | the room and the vacant slot for
 *                                                          which there was no offer
 *   own    | record load by the thread that has the slot in hand | relaxed | - | -
 */
#include <cpool/debug.h>

#include "object/object.h"

#include "base/atomic.h"
#include "host/os.h"
#include "host/thread.h"

/* Nanoseconds for which a thread looks again for a vacant slot that another one has in hand, or
 * that may be lost. */
#define CPI_PATIENCE UINT64_C(1000000000)
#define CPI_PATIENCE_LOST UINT64_C(1000000)

/* Slots that are offered at once, so that a get has few to pass by. */
#define CPI_OFFERS 8u

/* --- Into the pool of slots, and out of it --- */

bool cpi_object_repair(const cpool_objects_t *pool, uintptr_t index)
{
    unsigned repairs = 0; /* of the bytes after it, and of those before it */

    while (repairs < 2 &&
           cpool_verify(pool->pool, cpool_at(pool->pool, index)) == CPOOL_EGUARD)
        repairs++;
    return repairs > 0;
}

void cpi_object_free(cpool_objects_t *pool, uintptr_t index)
{
    if (cpi_object_slots_are(pool, CPOOL_CHECKED))
        cpi_object_repair(pool, index);
    cpool_free(pool->pool, cpool_at(pool->pool, index));
}

/* Of a slot that was free: whether it was offered, which it then is no more. */
static bool take_offer(cpool_objects_t *pool, uintptr_t index)
{
    if (cpi_load(&pool->records[index], relaxed) != CPI_OBJECT_VACANT) /* [own] */
        return false;
    cpi_fetch_add(&pool->offered, UINT64_MAX, acq_rel); /* [offer] */
    return true;
}

/* Offers a slot in hand, or makes it vacant and returns false if enough of them lie free.  The
 * thread that takes one of those finds the vacant slot and offers it if there is room left
 * (cpi_object_offer_rest).  Offers that were taken before may leave too few. */
static bool offer(cpool_objects_t *pool, uintptr_t index)
{
    while (cpi_fetch_add(&pool->offered, 1u, acq_rel) >= CPI_OFFERS) { /* [offer] */
        cpi_object_vacate(pool, index);
        if (cpi_fetch_add(&pool->offered, UINT64_MAX, acq_rel) > CPI_OFFERS || /* [offer] */
            (index = cpi_object_occupy_beside_trim(pool)) == CPI_OBJECT_NONE)
            return false;
    }
    cpi_object_free(pool, index);
    return true;
}

uintptr_t cpi_object_take_free(cpool_objects_t *pool, void *slot, bool near, size_t *passed)
{
    for (;; (*passed)++, slot = NULL) {
        uintptr_t index;

        if (slot == NULL && !cpi_object_is_fake(pool))
            slot = near ? cpi_layer_near(pool->pool) : cpool_alloc(pool->pool);
        if (slot == NULL)
            return CPI_OBJECT_NONE;
        index = cpi_object_index_of(pool, slot);
        if (!take_offer(pool, index))
            return index;
        cpi_object_vacate(pool, index);
    }
}

uintptr_t cpi_object_take_inactive(cpool_objects_t *pool, void *slot, bool near, size_t *passed)
{
    uintptr_t index = cpi_object_take_free(pool, slot, near, passed);

    return CPI_LIKELY(index != CPI_OBJECT_NONE) ? index : cpi_object_take_held(pool);
}

/* --- Finding one --- */

static uintptr_t look_everywhere(cpool_objects_t *pool)
{
    uintptr_t index = cpi_object_occupy(pool);
    void *slot;

    if (index == CPI_OBJECT_NONE)
        index = cpi_object_fresh(pool);
    if (index != CPI_OBJECT_NONE || cpi_object_is_fake(pool))
        return index;
    slot = cpool_alloc(pool->pool);
    if (slot == NULL)
        return CPI_OBJECT_NONE;
    index = cpi_object_index_of(pool, slot);
    if (take_offer(pool, index) && cpi_object_has_room(pool))
        cpi_object_offer_some(pool, 1);
    return index;
}

bool cpi_object_has_lost(const cpool_objects_t *pool)
{
    return pool->forks != cpi_thread_forks() && cpi_object_reached(pool) >= pool->max;
}

/* Nothing was found.  Where all slots have been used, another thread has one in hand.  Where
 * not, memory was refused. */
CPI_COLD static uintptr_t look_again(cpool_objects_t *pool)
{
    uint64_t end = cpi_os_now() + (cpi_object_has_lost(pool) ? CPI_PATIENCE_LOST : CPI_PATIENCE);
    uintptr_t index = cpi_object_occupy_beside_trim(pool);
    unsigned times;

    for (times = 0; index == CPI_OBJECT_NONE; times++) {
        if (cpi_object_reached(pool) < pool->max || cpi_os_now() >= end)
            break;
        cpi_os_back_off(times);
        index = look_everywhere(pool);
    }
    return index;
}

uintptr_t cpi_object_find_slot(cpool_objects_t *pool)
{
    uintptr_t index = look_everywhere(pool);

    if (CPI_UNLIKELY(index == CPI_OBJECT_NONE))
        index = look_again(pool);
    if (index != CPI_OBJECT_NONE && cpi_object_is_fake(pool) &&
        !cpi_object_fake_open(pool, index)) {
        cpi_object_vacate(pool, index);
        index = CPI_OBJECT_NONE;
    }
    if (index == CPI_OBJECT_NONE || cpi_object_state(pool, index) != CPI_OBJECT_VACANT) {
        cpi_object_count_out(pool, 0);
        cpi_object_offer_some(pool, 1);
    }
    return index;
}

/* --- Giving up and offering --- */

/* A thread that waits is woken by the slot, and must find the room.  It may create, get all
 * and destroy the pool, so the offer comes last. */
void cpi_object_give_up(cpool_objects_t *pool, uintptr_t index)
{
    if (cpi_object_slots_are(pool, CPOOL_WAITABLE) && !cpi_object_is_fake(pool)) {
        cpi_object_count_out(pool, 0);
        (void)offer(pool, index);
    } else {
        cpi_object_vacate(pool, index);
        cpi_object_count_out(pool, 0);
    }
}

void cpi_object_offer_some(cpool_objects_t *pool, size_t n)
{
    for (; cpi_object_slots_are(pool, CPOOL_WAITABLE) && !cpi_object_is_fake(pool) && n > 0; n--) {
        uintptr_t index = cpi_object_occupy(pool);

        if (index == CPI_OBJECT_NONE)
            index = cpi_object_fresh(pool);
        if (index == CPI_OBJECT_NONE)
            index = cpi_object_occupy_beside_trim(pool);
        if (index == CPI_OBJECT_NONE || !offer(pool, index))
            return;
    }
}

void cpi_object_offer_rest(cpool_objects_t *pool)
{
    if (cpi_object_has_room(pool))
        cpi_object_offer_some(pool, CPI_OFFERS);
}
