/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_vacancy.c - which slots are vacant, and slots that were never used.
 *
 * ORDERING TABLE
 *   vacate | vacancy bit set, CAS        | release | occupy | the record, and the slot's bytes
 *   occupy | vacancy bit cleared, CAS    | acquire | vacate | the same
 *   look   | vacancy word load           | relaxed | - | -
 *   hint   | vacant, cursor, reached     | relaxed | - | -
 *   failed | CAS failure                 | relaxed | - | -
 *
 * A slot that a trim has in hand is given back with the library's lock held.
 */
#include "object/object.h"

#include "base/atomic.h"
#include "host/thread.h"

void cpi_object_vacate(cpool_objects_t *pool, uintptr_t index)
{
    _Atomic uint64_t *word = &pool->vacancy[index / 64];
    uint64_t bit = (uint64_t)1 << index % 64;
    uint64_t bits = cpi_load(word, relaxed); /* [look] */

    if (cpi_object_is_fake(pool))
        cpi_object_fake_close(pool, index);
    CPI_ASSERT(cpi_load(&pool->reached, relaxed) > index); /* [hint] */
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
    uintptr_t words = (cpi_load(&pool->reached, relaxed) + 63) / 64; /* [hint] */
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

uintptr_t cpi_object_fresh(cpool_objects_t *pool)
{
    uintptr_t index = cpi_load(&pool->reached, relaxed); /* [hint] */
    void *slot;

    if (cpi_object_is_fake(pool)) {
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
