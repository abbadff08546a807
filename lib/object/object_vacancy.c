/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_vacancy.c - which slots are vacant, and those that were never used.
 *
 * ORDERING TABLE
 *   vacate | vacancy bit set, CAS        | release | occupy, object_trim.c's occupy | the record,
 *                                          and the slot's bytes
 *   occupy | vacancy bit cleared, CAS    | acquire | vacate, object_trim.c's vacate | the same
 *   stretch | stretch CAS that gives a run | release | use | that the slots are there
 *   use    | stretch CAS that takes a slot | acquire | stretch | the same
 *   look   | vacancy word, stretch load  | relaxed | - | -
 *   hint   | vacant, cursor, reached, room load | relaxed | - | -
 *   failed | CAS failure                 | relaxed | - | -
 */
#include "object/object.h"

#include "base/atomic.h"
#include "host/thread.h"

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
    return &pool->stretches[cpi_thread_number() % CPI_STRETCHES];
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

/* How many fresh slots to take: up to the end of a line of records. */
static size_t run_length(const cpool_objects_t *pool)
{
    uintptr_t capacity = CPI_ROOM_CAPACITY(cpi_load(&pool->room, relaxed)); /* [hint] */
    size_t lines = capacity / (CPI_STRETCH_PART * CPI_STRETCH);
    size_t most = CPI_STRETCH_LINES;

    if (pool->type.object_size > CPI_STRETCH_OBJECT || cpi_object_slots_are(pool, CPOOL_WAITABLE))
        return 1;
    if (most > CPI_STRETCH_OBJECT / CPI_STRETCH / pool->type.object_size)
        most = CPI_STRETCH_OBJECT / CPI_STRETCH / pool->type.object_size;
    if (lines > most)
        lines = most;
    return (lines > 0 ? lines : 1) * CPI_STRETCH - cpi_object_reached(pool) % CPI_STRETCH;
}

bool cpi_object_claim(cpool_objects_t *pool)
{
    size_t n = run_length(pool);
    _Atomic uint64_t *stretch = own_stretch(pool);
    uint64_t run = cpi_load(stretch, relaxed); /* [look] */
    uintptr_t first;

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
