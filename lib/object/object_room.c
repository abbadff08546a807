/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_room.c - how many objects there may be, and which slots are vacant.
 *
 * ORDERING TABLE
 *   room   | capacity and objects, load and CAS | relaxed | - | -
 *   count  | room CAS that counts an object in  | acquire | uncount | the slot that was given up
 *   uncount | room CAS that counts an object out | release | count | the slot that was given up
 *   full   | room load                   | acquire | object_resize.c's lower, uncount |
 *                                                    that the pool was shrunk
 *   shrunk | shrunk load after [full]    | relaxed | - | -
 *   failed | CAS failure                 | relaxed | - | -
 *   park   | vacancy bit set, CAS        | release | unpark | the record, and the slot's bytes
 *   unpark | vacancy bit cleared, CAS    | acquire | park   | the same
 *   look   | vacancy word load           | relaxed | - | -
 *   hint   | vacant, cursor, reached     | relaxed | - | -
 *   offer  | offered fetch-and-add       | acq_rel | offer  | the room for which there was no offer
 *   own    | record load by the thread that has the slot in hand | relaxed | - | -
 *   peak   | peak load, CAS              | relaxed | - | -
 *   place  | inactive load, CAS, fetch-and-add | relaxed | - | -
 *
 * A thread that has counted an object relies on a slot that another one gave up before it
 * counted its own out.  Read-modify-writes of the room between the two go on with the release.
 * A slot that a trim has in hand is given back with the library's lock held.
 */
#include <cpool/debug.h>
#include "object/object.h"

#include "base/atomic.h"
#include "host/os.h"
#include "host/thread.h"

/* Nanoseconds for which a thread looks again for a vacant slot that another one has in hand. */
#define CPI_PATIENCE UINT64_C(1000000000)

/* Vacant slots that lie free at once, so that a get has few to pass by. */
#define CPI_OFFERS 8u

/* --- Capacity --- */

/* Objects by which a dry pool grows. */
static uintptr_t step_of(const cpool_objects_t *pool, uintptr_t capacity)
{
    uint64_t step = (uint64_t)capacity * pool->percent / 100;

    if (pool->growth == 0 && pool->percent == 0)
        return 0;
    if (step < pool->growth)
        step = pool->growth;
    if (step == 0)
        step = 1;
    return step < pool->max - capacity ? (uintptr_t)step : pool->max - capacity;
}

bool cpi_object_reserve(cpool_objects_t *pool, bool grows, size_t *more)
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
    if (!pool->counted || pool->fake)
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

void cpi_object_unreserve(cpool_objects_t *pool)
{
    uint64_t room = cpi_load(&pool->room, relaxed); /* [room] */

    while (!cpi_cas_weak(&pool->room, &room, room - CPI_ROOM(0, 1), /* [uncount] [failed] */
                         release, relaxed))
        CPI_ASSERT(CPI_ROOM_OBJECTS(room) > 0);
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

void cpi_object_leave_place(cpool_objects_t *pool)
{
    if (pool->max_inactive != 0)
        cpi_fetch_add(&pool->inactive, UINT64_MAX, relaxed); /* [place] */
}

/* --- Vacant slots --- */

static void park(cpool_objects_t *pool, uintptr_t index)
{
    _Atomic uint64_t *word = &pool->vacancy[index / 64];
    uint64_t bit = (uint64_t)1 << index % 64;
    uint64_t bits = cpi_load(word, relaxed); /* [look] */

    CPI_ASSERT(cpi_load(&pool->reached, relaxed) > index); /* [hint] */
    cpi_fetch_add(&pool->vacant, 1u, relaxed);             /* [hint] */
    do
        CPI_ASSERT((bits & bit) == 0);
    while (!cpi_cas_weak(word, &bits, bits | bit, release, relaxed)); /* [park] [failed] */
    if (index / 64 < cpi_load(&pool->cursor, relaxed))                /* [hint] */
        cpi_store(&pool->cursor, index / 64, relaxed);                /* [hint] */
}

/* The lowest vacant slot in the word, or CPI_OBJECT_NONE. */
static uintptr_t unpark_in(cpool_objects_t *pool, uintptr_t word)
{
    uint64_t bits = cpi_load(&pool->vacancy[word], relaxed); /* [look] */

    while (bits != 0) {
        uint64_t rest = bits & (bits - 1);

        if (cpi_cas_weak(&pool->vacancy[word], &bits, rest, /* [unpark] [failed] */
                         acquire, relaxed)) {
            cpi_fetch_add(&pool->vacant, UINTPTR_MAX, relaxed); /* [hint] */
            cpi_store(&pool->cursor, word, relaxed);            /* [hint] */
            return word * 64 + (uintptr_t)__builtin_ctzll(bits);
        }
    }
    return CPI_OBJECT_NONE;
}

static uintptr_t unpark(cpool_objects_t *pool)
{
    uintptr_t words = (cpi_load(&pool->reached, relaxed) + 63) / 64; /* [hint] */
    uintptr_t word = cpi_load(&pool->cursor, relaxed);               /* [hint] */
    uintptr_t i;

    if (cpi_load(&pool->vacant, relaxed) == 0) /* [hint] */
        return CPI_OBJECT_NONE;
    for (i = 0; i < words; i++, word++) {
        uintptr_t index = unpark_in(pool, word < words ? word : word % words);

        if (index != CPI_OBJECT_NONE)
            return index;
    }
    return CPI_OBJECT_NONE;
}

/* A slot, or in a fake pool an index, that was never used. */
static uintptr_t take_fresh(cpool_objects_t *pool)
{
    uintptr_t index = cpi_load(&pool->reached, relaxed); /* [hint] */
    void *slot;

    if (pool->fake) {
        do {
            if (index == pool->max)
                return CPI_OBJECT_NONE;
        } while (!cpi_cas_weak(&pool->reached, &index, index + 1, /* [hint] [failed] */
                               relaxed, relaxed));
        return index;
    }
    slot = cpi_layer_fresh(pool->pool);
    if (slot == NULL)
        return CPI_OBJECT_NONE;
    index = cpi_object_index(pool, slot);
    cpi_raise(&pool->reached, index + 1, relaxed); /* [hint] [failed] */
    return index;
}

int cpi_object_begin(cpool_objects_t *pool)
{
    uintptr_t index = take_fresh(pool);

    if (index == CPI_OBJECT_NONE)
        return CPOOL_ENOMEM;
    park(pool, index);
    return 0;
}

bool cpi_object_was_offered(cpool_objects_t *pool, uintptr_t index)
{
    if (cpi_load(&pool->records[index], relaxed) != CPI_OBJECT_VACANT) /* [own] */
        return false;
    cpi_fetch_add(&pool->offered, UINT64_MAX, acq_rel); /* [offer] */
    return true;
}

/* Offers a slot in hand, unless enough of them lie free.  The thread that takes one of those
 * offers another one if there is room left (cpi_object_offer_rest). */
static bool try_offer(cpool_objects_t *pool, uintptr_t index)
{
    if (cpi_fetch_add(&pool->offered, 1u, acq_rel) >= CPI_OFFERS) { /* [offer] */
        cpi_fetch_add(&pool->offered, UINT64_MAX, acq_rel);         /* [offer] */
        return false;
    }
    cpi_object_repair(pool, index);
    cpool_free(pool->pool, cpool_at(pool->pool, index));
    return true;
}

uintptr_t cpi_object_take_free(cpool_objects_t *pool, bool *vacant)
{
    void *slot = pool->fake ? NULL : cpool_alloc(pool->pool);
    uintptr_t index;

    if (slot == NULL)
        return CPI_OBJECT_NONE;
    index = cpi_object_index(pool, slot);
    *vacant = cpi_object_was_offered(pool, index);
    return index;
}

static uintptr_t look_everywhere(cpool_objects_t *pool)
{
    uintptr_t index = unpark(pool);
    bool vacant;

    if (index == CPI_OBJECT_NONE)
        index = take_fresh(pool);
    return index != CPI_OBJECT_NONE ? index : cpi_object_take_free(pool, &vacant);
}

/* No trim has a slot in hand while the lock is held. */
static uintptr_t look_beside_trim(cpool_objects_t *pool)
{
    uintptr_t index;

    cpi_lock();
    index = unpark(pool);
    cpi_unlock();
    return index;
}

/* Nothing was found.  Where all slots have been used, another thread has one in hand.  Where
 * not, memory was refused. */
CPI_COLD static uintptr_t look_again(cpool_objects_t *pool)
{
    uint64_t end = cpi_os_now() + CPI_PATIENCE;
    uintptr_t index = look_beside_trim(pool);
    unsigned times;

    for (times = 0; index == CPI_OBJECT_NONE; times++) {
        if (cpi_load(&pool->reached, relaxed) < pool->max || cpi_os_now() >= end) /* [hint] */
            break;
        cpi_os_back_off(times);
        index = look_everywhere(pool);
    }
    return index;
}

uintptr_t cpi_object_vacancy(cpool_objects_t *pool)
{
    uintptr_t index = look_everywhere(pool);

    if (CPI_UNLIKELY(index == CPI_OBJECT_NONE))
        index = look_again(pool);
    if (index == CPI_OBJECT_NONE || !pool->fake || cpi_object_fake_open(pool, index))
        return index;
    park(pool, index);
    return CPI_OBJECT_NONE;
}

void cpi_object_lose(cpool_objects_t *pool, uintptr_t index)
{
    park(pool, index);
    cpi_object_unreserve(pool);
}

void cpi_object_vacate(cpool_objects_t *pool, uintptr_t index)
{
    if (pool->fake)
        cpi_object_fake_close(pool, index);
    park(pool, index);
}

bool cpi_object_repair(const cpool_objects_t *pool, uintptr_t index)
{
    unsigned repairs = 0; /* of the bytes after it, and of those before it */

    while (pool->checked && repairs < 2 &&
           cpool_verify(pool->pool, cpool_at(pool->pool, index)) == CPOOL_EGUARD)
        repairs++;
    return repairs > 0;
}

void cpi_object_offer(cpool_objects_t *pool, uintptr_t index)
{
    if (pool->fake || !try_offer(pool, index))
        cpi_object_vacate(pool, index);
}

/* A thread that waits is woken by the slot, and must find the room.  It may create, get all
 * and destroy the pool, so the offer comes last. */
void cpi_object_give_up(cpool_objects_t *pool, uintptr_t index)
{
    if (pool->waitable) {
        cpi_object_unreserve(pool);
        cpi_object_offer(pool, index);
    } else {
        cpi_object_vacate(pool, index);
        cpi_object_unreserve(pool);
    }
}

void cpi_object_offer_some(cpool_objects_t *pool, size_t n)
{
    for (; pool->waitable && !pool->fake && n > 0; n--) {
        uintptr_t index = unpark(pool);

        if (index == CPI_OBJECT_NONE)
            index = take_fresh(pool);
        if (index == CPI_OBJECT_NONE)
            index = look_beside_trim(pool);
        if (index == CPI_OBJECT_NONE)
            return;
        if (!try_offer(pool, index)) {
            park(pool, index);
            return;
        }
    }
}

void cpi_object_offer_rest(cpool_objects_t *pool)
{
    uint64_t room = cpi_load(&pool->room, relaxed); /* [room] */

    if (CPI_ROOM_OBJECTS(room) < CPI_ROOM_CAPACITY(room) ||
        step_of(pool, CPI_ROOM_CAPACITY(room)) > 0)
        cpi_object_offer_some(pool, CPI_OFFERS);
}
