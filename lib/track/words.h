/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * words.h - one word for each slot, which tells whether it is live and how often it was freed.
 *
 * Includes slab.h.
 *
 *   side memory   | word 0 | word 1 | word 2 | ...
 *
 *   a word        | generation | index of the slot | retired | live |
 *                 63            shift               2         1      0
 *
 * An alloc sets `live`.  A free advances the generation and clears it.  A retire advances the
 * generation and sets `retired`; both bits are set while a retired slot goes back.  So the word of
 * a live slot serves as its handle: it contains the slot's index, and no two owners of a slot get
 * the same word until the generation wraps.  The word is 0 until the slot is first taken, and never
 * again.
 *
 * The generation has the bits that the index leaves: 30 in a pool of 2^32 slots, 42 with 2^20
 * slots, 62 with one slot.
 *
 * ORDERING TABLE
 *   own   | word load, word store | relaxed | - | -
 *   taken | word store | release | see   | what the slot held when it was taken
 *   see   | word load  | acquire | taken | what the slot held when it was taken
 *   given | word CAS, CAS failure | relaxed | - | -
 *
 * [own] and [given] need no order, because the way of the slot from owner to owner orders its word
 * (doc/CONCURRENCY.md 7.2).
 */
#ifndef CPI_WORDS_H
#define CPI_WORDS_H

#include <cpool/client.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "depot/slab.h"

/* The bits of a generation; tests define fewer. */
#ifndef CPI_GENERATION_BITS
#define CPI_GENERATION_BITS 62u
#endif

#define CPI_SLOTMAP_SIZE (sizeof(uint64_t))
#define CPI_SLOTMAP_LIVE UINT64_C(1)
#define CPI_SLOTMAP_RETIRED UINT64_C(2)
#define CPI_SLOTMAP_STATE (CPI_SLOTMAP_LIVE | CPI_SLOTMAP_RETIRED)
#define CPI_SLOTMAP_INDEX 2u /* the lowest bit of the index */

struct cpi_slotmap {
    _Atomic uint64_t *words; /* constant: in the slab's side memory, or NULL */
    uint64_t step;           /* constant: one generation */
};

/* The words of the slab's slots. */
static inline _Atomic uint64_t *cpi_slotmap_words(const struct cpi_slab *slab)
{
    return (_Atomic uint64_t *)(void *)slab->sides[CPI_SIDE_WORDS].extent.base;
}

/* The words lie in the slab's side memory, which is zero at first. */
static inline void cpi_slotmap_init(struct cpi_slotmap *map, const struct cpi_slab *slab)
{
    unsigned shift = CPI_SLOTMAP_INDEX;

    while (shift < 32 + CPI_SLOTMAP_INDEX &&
           (uint64_t)1 << (shift - CPI_SLOTMAP_INDEX) < slab->slots)
        shift++;
    if (shift < 64 - CPI_GENERATION_BITS)
        shift = 64 - CPI_GENERATION_BITS;
    map->words = cpi_slotmap_words(slab);
    map->step = (uint64_t)1 << shift;
}

/* Marks a slot live for the owner that has just obtained it.  Returns false, and changes nothing,
 * if it is live already, because it was freed twice.  Wait-free. */
static inline bool cpi_slotmap_take(const struct cpi_slotmap *map, uintptr_t index)
{
    _Atomic uint64_t *at = &map->words[index];
    uint64_t word = cpi_load(at, relaxed); /* [own] */

    if (CPI_UNLIKELY((word & CPI_SLOTMAP_STATE) != 0))
        return false;
    cpi_store(at, word | ((uint64_t)index * 4 + CPI_SLOTMAP_LIVE), release); /* [taken] */
    return true;
}

/* The index in the word of a live slot.  Any other number gives some index. */
static inline uintptr_t cpi_slotmap_index(const struct cpi_slotmap *map, uint64_t word)
{
    return (uintptr_t)((word & (map->step - 1)) >> CPI_SLOTMAP_INDEX);
}

/* The word of a slot below the watermark, or 0 if the slot is not live.  Any thread, wait-free. */
static inline uint64_t cpi_slotmap_live(const struct cpi_slotmap *map, uintptr_t index)
{
    uint64_t word = cpi_load(&map->words[index], acquire); /* [see] */

    return (word & CPI_SLOTMAP_STATE) == CPI_SLOTMAP_LIVE ? word : 0;
}

/* The state of a slot is the code for a free of it: 0 if it is live, CPOOL_EDOUBLEFREE if it is
 * free, CPOOL_ERETIRED, or CPOOL_EUNUSED if it was never taken. */
static inline int cpi_slotmap_state_of(uint64_t word)
{
    if (CPI_LIKELY((word & CPI_SLOTMAP_LIVE) != 0))
        return 0;
    if (CPI_UNLIKELY((word & CPI_SLOTMAP_RETIRED) != 0))
        return CPOOL_ERETIRED;
    return word != 0 ? CPOOL_EDOUBLEFREE : CPOOL_EUNUSED;
}

/* The state of a slot.  Wait-free. */
static inline int cpi_slotmap_state(const struct cpi_slotmap *map, uintptr_t index)
{
    return cpi_slotmap_state_of(cpi_load(&map->words[index], relaxed)); /* [own] */
}

/* The state of a slot of any slab that has words.  Wait-free. */
static inline int cpi_slotmap_slab_state(const struct cpi_slab *slab, uintptr_t index)
{
    const struct cpi_slotmap map = {.words = cpi_slotmap_words(slab)};

    return cpi_slotmap_state(&map, index);
}

/* The word of a live slot after a free.  Only a slot that was never freed has generation 0. */
static inline uint64_t cpi_slotmap_next_free(const struct cpi_slotmap *map, uint64_t word)
{
    uint64_t next = (word & ~CPI_SLOTMAP_STATE) + map->step;

    return CPI_UNLIKELY(next < map->step) ? next + map->step : next;
}

/* Marks a live slot free, and returns the state before.  If several threads free one slot at once,
 * one of them gets 0, and nothing changes for the others.  Wait-free. */
static inline int cpi_slotmap_give(const struct cpi_slotmap *map, uintptr_t index)
{
    uint64_t word = cpi_load(&map->words[index], relaxed); /* [own] */

    if (CPI_UNLIKELY((word & CPI_SLOTMAP_LIVE) == 0) ||
        CPI_LIKELY(cpi_cas_strong(&map->words[index], &word,        /* [given] */
                                  cpi_slotmap_next_free(map, word), /* [given] */
                                  relaxed, relaxed)))               /* [given] */
        return cpi_slotmap_state_of(word);
    return CPOOL_EDOUBLEFREE;
}

/* Does what cpi_slotmap_give does in fewer instructions.  Returns false, and changes nothing, if
 * the slot is not live, or is retired, or its generation wraps; the caller then uses
 * cpi_slotmap_give.  Wait-free. */
static inline bool cpi_slotmap_give_live(const struct cpi_slotmap *map, uintptr_t index)
{
    _Atomic uint64_t *at = &map->words[index];
    uint64_t word = cpi_load(at, relaxed); /* [own] */
    uint64_t next = word + (map->step - CPI_SLOTMAP_LIVE);

    return CPI_LIKELY((next & CPI_SLOTMAP_STATE) == 0) && CPI_LIKELY(next >= map->step) &&
           CPI_LIKELY(cpi_cas_strong(at, &word, next, relaxed, relaxed)); /* [given] */
}

/* Marks a live slot retired, and returns the state before, as cpi_slotmap_give does.  Wait-free. */
static inline int cpi_slotmap_retire(const struct cpi_slotmap *map, uintptr_t index)
{
    uint64_t word = cpi_load(&map->words[index], relaxed); /* [own] */

    if ((word & CPI_SLOTMAP_STATE) == CPI_SLOTMAP_LIVE &&
        cpi_cas_strong(&map->words[index], &word,                              /* [given] */
                       cpi_slotmap_next_free(map, word) | CPI_SLOTMAP_RETIRED, /* [given] */
                       relaxed, relaxed))                                      /* [given] */
        return 0;
    if ((word & CPI_SLOTMAP_STATE) == CPI_SLOTMAP_STATE)
        return CPOOL_ERETIRED;
    return cpi_slotmap_state_of(word);
}

/* Prepares a retired slot for cpi_slotmap_give.  Wait-free. */
static inline void cpi_slotmap_back(const struct cpi_slotmap *map, uintptr_t index)
{
    uint64_t word = cpi_load(&map->words[index], relaxed); /* [own] */

    if ((word & CPI_SLOTMAP_RETIRED) != 0)
        cpi_store(&map->words[index], word | CPI_SLOTMAP_LIVE, relaxed); /* [own] */
}

/* Performs a step of retiring.  Returns 0, or the state of a slot that is not live.  Wait-free. */
static inline int cpi_slotmap_step(const struct cpi_slotmap *map, uintptr_t index,
                                   enum cpool_client_step step)
{
    if (step != CPOOL_CLIENT_BACK)
        return step == CPOOL_CLIENT_OUT ? cpi_slotmap_retire(map, index)
                                        : cpi_slotmap_state(map, index);
    cpi_slotmap_back(map, index);
    return 0;
}

/* Makes the slot free, whatever its state.  Nobody else may be using the slab. */
static inline void cpi_slotmap_clear(const struct cpi_slotmap *map, uintptr_t index)
{
    cpi_slotmap_back(map, index);
    (void)cpi_slotmap_give(map, index);
}

#endif /* CPI_WORDS_H */
