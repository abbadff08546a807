/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_trim.c - memory of vacant slots that goes back to the operating system.
 *
 * ORDERING TABLE
 *   vacate | vacancy bits set, add       | release | occupy, object_vacancy.c's occupy | the slot's
 *                                          bytes are gone
 *   occupy | vacancy bits cleared, CAS   | acquire | vacate, object_vacancy.c's vacate | the
 *                                          slot's bytes
 *   look   | vacancy word load           | relaxed | - | -
 *   failed | CAS failure                 | relaxed | - | -
 *
 * A slot that a trim has in hand is given back with the library's lock held.
 */
#include "object/object.h"

#include "base/atomic.h"
#include "host/thread.h"

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
    uintptr_t i = 0;

    do /* there is a word at least */
        taken[i] = take_bits(&vacancy[i], mask);
    while (++i < words);
    bytes = discard_portion(pool, taken, from, n);
    for (i = 0; i < words; i++)
        cpi_fetch_add(&vacancy[i], taken[i], release); /* [vacate]: none of them is set */
    return bytes;
}

size_t cpool_objects_trim(cpool_objects_t *pool)
{
    uintptr_t reached = CPI_HAS_ENDED(pool) ? 0 : cpi_object_reached(pool);
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
