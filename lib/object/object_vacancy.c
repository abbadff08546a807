/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_vacancy.c - room for objects, and vacant slots: how many objects there may be, which slots
 * are vacant, slots that were never used, and the memory of both.
 *
 * ORDERING TABLE
 *   room   | capacity and objects, load and CAS | relaxed | - | -
 *   count  | room CAS that counts an object in  | acquire | uncount | the slot that was given up
 *   uncount | room CAS that counts an object out | release | count | the slot that was given up
 *   full   | room load                   | acquire | object_resize.c's lower, uncount |
 *                                                    that the pool was shrunk
 *   shrunk | shrunk load after [full]    | relaxed | - | -
 *   peak   | peak load, CAS              | relaxed | - | -
 *   place  | inactive load, CAS | relaxed | - | -
 *   vacate | vacancy bits set, CAS or add | release | occupy | the record, and the slot's bytes
 *   occupy | vacancy bits cleared, CAS   | acquire | vacate | the same
 *   stretch | stretch CAS that gives a run | release | use | that the slots are there
 *   use    | stretch CAS that takes a slot | acquire | stretch | the same
 *   look   | vacancy word, stretch load  | relaxed | - | -
 *   hint   | vacant, cursor, reached     | relaxed | - | -
 *   failed | CAS failure                 | relaxed | - | -
 *   block  | block load and store        | relaxed | - | -
 *   pools  | fake_pools fetch-and-add, load | relaxed | - | -
 *
 * A thread that has counted an object relies on a slot that another one gave up before it
 * counted its own out.  Read-modify-writes of the room between the two go on with the release.
 * A slot that a trim has in hand is given back with the library's lock held.
 */
#include "object/object.h"

#include <stdlib.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "host/thread.h"

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

/* The memory of fake pools' objects:
 *
 *   from malloc   | padding | pool, index, proof | object ...
 *
 * The record of an object orders what lies in its block. */

/* Lies before an object. */
struct front {
    cpool_objects_t *pool;
    uintptr_t index;
    uintptr_t proof; /* made of the address, so that other memory hardly has it */
};

#define CPI_PROOF ((uintptr_t)0x6f626a65)

static _Atomic size_t fake_pools; /* of this process, now */

static size_t lead_of(const cpool_objects_t *pool)
{
    return cpi_align_up(sizeof(struct front), pool->align);
}

bool cpi_object_fake_open(cpool_objects_t *pool, uintptr_t index)
{
    size_t lead = lead_of(pool);
    struct front *front;
    size_t size;
    char *memory;

    if (!cpi_add(lead, pool->type.object_size, &size) ||
        !cpi_align_up_checked(size, pool->align, &size))
        return false;
    memory = aligned_alloc(pool->align, size);
    if (memory == NULL)
        return false;
    front = (struct front *)(void *)(memory + lead) - 1;
    front->pool = pool;
    front->index = index;
    front->proof = (uintptr_t)(memory + lead) ^ CPI_PROOF;
    cpi_store(&pool->blocks[index], memory + lead, relaxed); /* [block] */
    return true;
}

void cpi_object_fake_close(cpool_objects_t *pool, uintptr_t index)
{
    char *object = cpi_load(&pool->blocks[index], relaxed); /* [block] */

    if (object == NULL)
        return;
    cpi_store(&pool->blocks[index], NULL, relaxed); /* [block] */
    ((struct front *)(void *)object - 1)->proof = 0;
    free(object - lead_of(pool));
}

uintptr_t cpi_object_fake_index(const cpool_objects_t *pool, const void *object)
{
    const struct front *front = (const struct front *)object - 1;

    if (front->proof != ((uintptr_t)object ^ CPI_PROOF) || front->pool != pool ||
        front->index >= pool->max ||
        cpi_load(&pool->blocks[front->index], relaxed) != object) /* [block] */
        return CPI_OBJECT_NONE;
    return front->index;
}

void cpi_object_fake_count(size_t by)
{
    cpi_fetch_add(&fake_pools, by, relaxed); /* [pools] */
}

cpool_objects_t *cpi_object_fake_pool(const void *object)
{
    const struct front *front = (const struct front *)object - 1;

    if (cpi_load(&fake_pools, relaxed) == 0 || /* [pools] */
        (uintptr_t)object % sizeof(void *) != 0)
        return NULL;
    return front->proof == ((uintptr_t)object ^ CPI_PROOF) ? front->pool : NULL;
}

/* --- Vacant slots --- */

void cpi_object_vacate(cpool_objects_t *pool, uintptr_t index)
{
    _Atomic uint64_t *word = &pool->vacancy[index / 64];
    uint64_t bit = (uint64_t)1 << index % 64;
    uint64_t bits = cpi_load(word, relaxed); /* [look] */

    if (cpi_object_is_fake(pool))
        cpi_object_fake_close(pool, index);
    CPI_ASSERT(cpi_object_reached(pool) > index);
    cpi_fetch_add(&pool->vacant, 1u, relaxed);             /* [hint] */
    do
        CPI_ASSERT((bits & bit) == 0);
    while (!cpi_cas_weak(word, &bits, bits | bit, release, relaxed)); /* [vacate] [failed] */
    if (index / 64 < cpi_load(&pool->cursor, relaxed))                /* [hint] */
        cpi_store(&pool->cursor, index / 64, relaxed);                /* [hint] */
}

/* The lowest vacant slot in the word, or CPI_OBJECT_NONE. */
static uintptr_t occupy_in(cpool_objects_t *pool, uintptr_t word)
{
    uint64_t bits = cpi_load(&pool->vacancy[word], relaxed); /* [look] */

    while (bits != 0) {
        uint64_t rest = bits & (bits - 1);

        if (cpi_cas_weak(&pool->vacancy[word], &bits, rest, /* [occupy] [failed] */
                         acquire, relaxed)) {
            cpi_fetch_add(&pool->vacant, UINTPTR_MAX, relaxed); /* [hint] */
            cpi_store(&pool->cursor, word, relaxed);            /* [hint] */
            return word * 64 + (uintptr_t)__builtin_ctzll(bits);
        }
    }
    return CPI_OBJECT_NONE;
}

uintptr_t cpi_object_occupy(cpool_objects_t *pool)
{
    uintptr_t words = (cpi_object_reached(pool) + 63) / 64;
    uintptr_t word = cpi_load(&pool->cursor, relaxed);               /* [hint] */
    uintptr_t i;

    if (cpi_load(&pool->vacant, relaxed) == 0) /* [hint] */
        return CPI_OBJECT_NONE;
    for (i = 0; i < words; i++, word++) {
        uintptr_t index = occupy_in(pool, word < words ? word : word % words);

        if (index != CPI_OBJECT_NONE)
            return index;
    }
    return CPI_OBJECT_NONE;
}

uintptr_t cpi_object_occupy_beside_trim(cpool_objects_t *pool)
{
    uintptr_t index;

    cpi_lock();
    index = cpi_object_occupy(pool);
    cpi_unlock();
    return index;
}

/* --- Slots that were never used --- */

uintptr_t cpi_object_reached(const cpool_objects_t *pool)
{
    return cpi_object_is_fake(pool) ? cpi_load(&pool->reached, relaxed) /* [hint] */
                                    : cpi_layer_reached(pool->pool);
}

/* The calling thread's: the first slot, and how many there are. */
static _Atomic uint64_t *own_stretch(cpool_objects_t *pool)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15); /* six bits of a hash */

    return &pool->stretches[(uint64_t)(cpi_thread_token() >> 12) * golden >> 58];
}

static uintptr_t take_from(_Atomic uint64_t *stretch)
{
    uint64_t run = cpi_load(stretch, relaxed); /* [look] */

    do
        if ((run & UINT32_MAX) == 0)
            return CPI_OBJECT_NONE;
    while (!cpi_cas_weak(stretch, &run, run + ((uint64_t)1 << 32) - 1, /* [use] [failed] */
                         acquire, relaxed));
    return (uintptr_t)(run >> 32);
}

/* The first of up to *n fresh slots, of which *n is the number then, or CPI_OBJECT_NONE. */
static uintptr_t take_run(cpool_objects_t *pool, size_t *n)
{
    uintptr_t index = cpi_load(&pool->reached, relaxed); /* [hint] */
    void *slot;

    if (!cpi_object_is_fake(pool)) {
        slot = cpi_layer_fresh(pool->pool, n);
        return slot != NULL ? cpi_object_index_of(pool, slot) : CPI_OBJECT_NONE;
    }
    do {
        if (*n > pool->max - index)
            *n = pool->max - index;
        if (*n == 0)
            return CPI_OBJECT_NONE;
    } while (!cpi_cas_weak(&pool->reached, &index, index + *n, /* [hint] [failed] */
                           relaxed, relaxed));
    return index;
}

bool cpi_object_claim(cpool_objects_t *pool)
{
    size_t n = CPI_STRETCH - cpi_object_reached(pool) % CPI_STRETCH;
    _Atomic uint64_t *stretch = own_stretch(pool);
    uint64_t run = cpi_load(stretch, relaxed); /* [look] */
    uintptr_t first;

    if (pool->type.object_size > CPI_STRETCH_OBJECT || cpi_object_slots_are(pool, CPOOL_WAITABLE))
        n = 1;
    first = take_run(pool, &n);
    if (first == CPI_OBJECT_NONE)
        return false;
    if ((run & UINT32_MAX) == 0 &&
        cpi_cas_strong(stretch, &run, (uint64_t)first << 32 | n, /* [stretch] [failed] */
                       release, relaxed))
        return true;
    while (n > 0) /* another thread has the same place */
        cpi_object_vacate(pool, first + --n);
    return true;
}

uintptr_t cpi_object_fresh(cpool_objects_t *pool)
{
    uintptr_t index;
    size_t i;

    do
        index = take_from(own_stretch(pool));
    while (index == CPI_OBJECT_NONE && cpi_object_claim(pool));
    for (i = 0; i < CPI_STRETCHES && index == CPI_OBJECT_NONE; i++)
        index = take_from(&pool->stretches[i]);
    return index;
}

/* --- Memory that goes back to the operating system --- */

/* Words of vacancy bits that a trim has in hand at once, and about how many bytes of slots,
 * so that nobody waits for it for long. */
#define CPI_TRIM_WORDS ((uintptr_t)64)
#define CPI_TRIM_BYTES ((size_t)4 << 20)

static size_t discard_run(const cpool_objects_t *pool, uintptr_t first, uintptr_t end)
{
    if (first >= end)
        return 0;
    return cpi_layer_discard(pool->pool, cpool_at(pool->pool, first), end - first);
}

/* Slots that a trim has in hand at once: whole words, or a part of one that divides it. */
static uintptr_t portion_of(const cpool_objects_t *pool)
{
    uintptr_t slots = CPI_TRIM_BYTES / pool->type.object_size;

    if (slots >= 64 * CPI_TRIM_WORDS)
        return 64 * CPI_TRIM_WORDS;
    if (slots >= 64)
        return slots - slots % 64;
    while ((slots & (slots - 1)) != 0)
        slots &= slots - 1;
    return slots > 0 ? slots : 1;
}

/* Discards the runs of vacant slots, which `words` has, among n from this one on. */
static size_t discard_portion(const cpool_objects_t *pool, const uint64_t *words, uintptr_t from,
                              uintptr_t n)
{
    uintptr_t first = from;
    uintptr_t index;
    size_t bytes = 0;

    for (index = from; index < from + n; index++) {
        if ((words[index / 64 - from / 64] >> index % 64 & 1) != 0)
            continue;
        bytes += discard_run(pool, first, index);
        first = index + 1;
    }
    return bytes + discard_run(pool, first, index);
}

/* Takes the bits of the mask that are set in a word. */
static uint64_t take_bits(_Atomic uint64_t *word, uint64_t mask)
{
    uint64_t bits = cpi_load(word, relaxed); /* [look] */

    while (!cpi_cas_weak(word, &bits, bits & ~mask, acquire, relaxed)) /* [occupy] [failed] */
        ;
    return bits & mask;
}

/* With the lock held, so that a fork and a get that finds nothing wait until the slots are back. */
static size_t trim_portion(cpool_objects_t *pool, uintptr_t from, uintptr_t n)
{
    uint64_t mask = n < 64 ? (((uint64_t)1 << n) - 1) << from % 64 : UINT64_MAX;
    _Atomic uint64_t *vacancy = &pool->vacancy[from / 64];
    uintptr_t words = (n + 63) / 64;
    uint64_t taken[CPI_TRIM_WORDS];
    size_t bytes;
    uintptr_t i;

    for (i = 0; i < words; i++)
        taken[i] = take_bits(&vacancy[i], mask);
    bytes = discard_portion(pool, taken, from, n);
    for (i = 0; i < words; i++)
        cpi_fetch_add(&vacancy[i], taken[i], release); /* [vacate]: none of them is set */
    return bytes;
}

size_t cpool_objects_trim(cpool_objects_t *pool)
{
    uintptr_t reached = cpi_object_reached(pool);
    uintptr_t end = cpi_object_is_fake(pool) ? 0 : (reached + 63) / 64 * 64;
    uintptr_t portion = portion_of(pool);
    uintptr_t from;
    size_t bytes = 0;

    for (from = 0; from < end; from += portion) {
        cpi_lock();
        bytes += trim_portion(pool, from, end - from < portion ? end - from : portion);
        cpi_unlock();
    }
    return bytes;
}
