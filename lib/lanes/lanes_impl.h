/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lanes_impl.h - lanes, and the words of their slots.
 *
 * Includes atomic.h, bitmap.h, layer.h.
 *
 * ORDERING TABLE
 *   word   | word load | relaxed | - | -
 */
#ifndef CPI_LANES_IMPL_H
#define CPI_LANES_IMPL_H

#include <cpool/lanes.h>

#include <stdatomic.h>

#include "base/atomic.h"
#include "base/bitmap.h"
#include "base/compiler.h"
#include "host/ending.h"
#include "pool/layer.h"

#define CPI_LANE_LIVE (UINT32_MAX - 1u)
#define CPI_LANE_END UINT32_MAX

struct cpool_lane_t {
    _Alignas(CPI_LINE) uint32_t head; /* its user's */
    uint32_t count;                   /* likewise */
    cpool_lanes_t *lanes;             /* constant */
};

/* All constant, but for the words, the bits and `shown`. */
struct cpool_lanes {
    cpool_t *pool;
    _Atomic uint32_t *words;
    uint64_t *reached; /* bits of slots, while a state is looked through */
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
