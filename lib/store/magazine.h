/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * magazine.h - an array of free slots that moves between caches and the depot.
 *
 * Includes atomic.h, compiler.h.
 *
 *   +------+-------+---------+---------+-----+------------------+
 *   | link | count | round 0 | round 1 | ... | round limit - 1  |
 *   +------+-------+---------+---------+-----+------------------+
 *
 * Magazines lie outside the slab, in memory that lasts as long as the pool, and are
 * known by their index, 1 and up.  At any time a magazine is in exactly one place: a
 * stack of the depot, the depot's partial magazine, or the hands of one cache or
 * thread.  Only its owner may touch count and rounds.
 *
 * ORDERING TABLE
 *   count | count load, store | relaxed | - | -
 *
 * The count is atomic only because figures are taken while others work.  The
 * depot's exchange orders it between owners.  While a magazine is loaded in a
 * cache the cache keeps the count, and this one is 0.
 */
#ifndef CPI_MAGAZINE_H
#define CPI_MAGAZINE_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

struct cpi_magazine {
    _Atomic uint32_t link;  /* tagstack.h's */
    _Atomic uint32_t count; /* rounds[0] .. rounds[count - 1] are free slots */
    void *rounds[];
};

static inline uint32_t cpi_magazine_count(const struct cpi_magazine *magazine)
{
    return cpi_load(&magazine->count, relaxed); /* [count] */
}

static inline void cpi_magazine_set_count(struct cpi_magazine *magazine, uint32_t count)
{
    cpi_store(&magazine->count, count, relaxed); /* [count] */
}

/*
 * Moves rounds from one magazine to another until the first is empty or the
 * second has `limit`.  Both are the caller's.
 */
static inline void cpi_magazine_move(struct cpi_magazine *from, struct cpi_magazine *to,
                                     uint32_t limit)
{
    uint32_t have = cpi_magazine_count(from);
    uint32_t held = cpi_magazine_count(to);
    uint32_t moved = have < limit - held ? have : limit - held;
    uint32_t i;

    CPI_ASSERT(from != to);
    CPI_ASSERT(held <= limit);
    for (i = 0; i < moved; i++)
        to->rounds[held + i] = from->rounds[have - moved + i];
    cpi_magazine_set_count(from, have - moved);
    cpi_magazine_set_count(to, held + moved);
}

#endif /* CPI_MAGAZINE_H */
