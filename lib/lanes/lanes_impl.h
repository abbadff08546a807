/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lanes_impl.h - lanes, and the words of their slots.
 *
 * Includes atomic.h, bits.h, layer.h.
 *
 * ORDERING TABLE
 *   word   | word load | relaxed | - | -
 */
#ifndef CPI_LANES_IMPL_H
#define CPI_LANES_IMPL_H

#include <cpool/lanes.h>

#include <stdatomic.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "host/ending.h"
#include "pool/layer.h"

/* What a slot's word says: it is the last one of its lane, it is live, or which one is the next.
 * A lane's head is such a word, too, and never live. */
#define CPI_LANE_END 0u
#define CPI_LANE_LIVE 1u
#define CPI_LANE_SLOT 2u /* and the index */

/* The words have no top bit, so that a load can look at several at once. */
#define CPI_LANE_SLOTS_MAX ((size_t)INT32_MAX - CPI_LANE_SLOT)

/* States that were saved here, by their sums.  A load need not follow the links of these. */
#define CPI_LANE_STATES 64u
struct cpi_lane_states {
    _Atomic unsigned count;
    _Atomic uint64_t sums[CPI_LANE_STATES];
};

struct cpool_lane_t {
    _Alignas(CPI_LINE) uint32_t head; /* its user's */
    uint32_t count;                   /* likewise */
    cpool_lanes_t *lanes;             /* constant */
};

/* All constant, but for the words, the bits, `shown` and what is led to. */
struct cpool_lanes {
    cpool_t *pool;
    _Atomic uint32_t *words;
    uint64_t *reached; /* bits of slots, while a state is looked through */
    struct cpi_lane_states *states;
    size_t capacity;
    size_t slot_size; /* bytes */
    size_t n;
    struct cpi_shown shown;
    struct cpi_ending ending;
    char name[32];
    cpool_lane_t lanes[];
};

static inline bool cpi_lanes_is_live(const cpool_lanes_t *lanes, size_t index)
{
    return cpi_load(&lanes->words[index], relaxed) == CPI_LANE_LIVE; /* [word] */
}

/* Words of a bitmap of so many slots. */
static inline size_t cpi_lanes_bits(size_t capacity)
{
    return (capacity + CPI_WORD_BITS - 1) / CPI_WORD_BITS;
}

#endif /* CPI_LANES_IMPL_H */
