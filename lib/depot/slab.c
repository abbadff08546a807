/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slab.c - geometry and the fresh watermark.
 *
 * ORDERING TABLE
 *   bump   | bounds CAS, fresh up | acq_rel | lower, slab.h's see | the slots' last contents;
 *                                                  the mark of the party that bumped
 *   lower  | bounds CAS, otherwise  | release | bump  | the slots' last contents
 *   bounds  | CAS failure, store while nobody else uses the slab | relaxed | - | -
 *
 * doc/CONCURRENCY.md 3.7 argues for these orders.
 */
#include "depot/slab.h"

#include "base/atomic.h"
#include "base/bits.h"

void cpi_slab_init(struct cpi_slab *slab, uintptr_t capacity)
{
    CPI_ASSERT(capacity <= slab->slots && slab->slot_size <= slab->stride);
    slab->base = (uintptr_t)slab->extent.base + slab->lead;
    slab->shift = (uintptr_t)__builtin_ctzll(slab->stride);
    slab->inverse = cpi_inverse(slab->stride >> slab->shift);
    atomic_init(&slab->bounds, CPI_BOUNDS(capacity, 0));
}

bool cpi_slab_provide(struct cpi_slab *slab, uintptr_t upto)
{
    for (unsigned i = 0; i < CPI_SIDES; i++)
        if (!cpi_extent_reach(&slab->sides[i].extent, upto * slab->sides[i].size))
            return false;
    return cpi_extent_reach(&slab->extent, slab->lead + upto * slab->stride);
}

bool cpi_slab_bump(struct cpi_slab *slab, uint64_t bounds, uintptr_t n)
{
    CPI_ASSERT(n > 0 && CPI_BOUNDS_FRESH(bounds) + n <= slab->slots);
    /* [bump] [bounds] */
    return cpi_cas_strong(&slab->bounds, &bounds, bounds + n, acq_rel, relaxed);
}

bool cpi_slab_set_bounds(struct cpi_slab *slab, uint64_t from, uint64_t to)
{
    CPI_ASSERT(CPI_BOUNDS_CAPACITY(to) <= slab->slots && CPI_BOUNDS_FRESH(to) <= slab->slots);
    return cpi_cas_strong(&slab->bounds, &from, to, release, relaxed); /* [lower] [bounds] */
}

void cpi_slab_reset(struct cpi_slab *slab)
{
    cpi_store(&slab->bounds, CPI_BOUNDS(cpi_slab_capacity(slab), 0), relaxed); /* [bounds] */
}

int cpi_slab_place(const struct cpi_slab *slab, const void *address, uintptr_t *index)
{
    uintptr_t offset = (uintptr_t)address - slab->base;

    *index = cpi_slab_index(slab, address);
    if (*index < slab->slots)
        return *index < cpi_slab_fresh(slab) ? 0 : CPOOL_EUNUSED;
    if (offset < slab->slots * slab->stride) {
        *index = offset / slab->stride;
        return CPOOL_EMISALIGNED;
    }
    *index = (uintptr_t)address < slab->base ? 0 : slab->slots - 1;
    return CPOOL_EFOREIGN;
}
