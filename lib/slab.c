/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slab.c - geometry and the fresh watermark.
 *
 * ORDERING TABLE
 *   claim | fresh CAS  | relaxed | claim | -
 *   fresh | fresh load, CAS failure | relaxed | claim | -
 *
 * Why relaxed is enough.  A claim makes its slots the claimer's by the
 * modification order of the one word alone, and publishes nothing: the slots'
 * memory was committed before (extent.c orders that) and nobody has written it.
 * Who validates a slot's address got the slot from somebody who had claimed
 * it, through synchronisation of the caller's, so its load is later than the
 * claim and sees it or a later one.
 */
#include "slab.h"

#include "atomic.h"
#include "bits.h"

void cpi_slab_init(struct cpi_slab *slab, const struct cpi_extent *extent, size_t lead,
                   size_t slot_size, size_t stride, size_t capacity)
{
    size_t power = cpi_lowest_bit(stride);

    slab->prefix.base = (uintptr_t)extent->base + lead;
    slab->prefix.inverse = cpi_inverse(stride / power);
    slab->prefix.table_offset = 0;
    slab->prefix.shift = cpi_log2(power);
    slab->slot_size = slot_size;
    slab->stride = stride;
    slab->capacity = capacity;
    cpi_extent_copy(&slab->extent, extent);
    slab->lead = lead;
    slab->side_size = 0;
    atomic_init(&slab->fresh, 0);
}

void cpi_slab_set_side(struct cpi_slab *slab, const struct cpi_extent *side, size_t size)
{
    cpi_extent_copy(&slab->side, side);
    slab->side_size = size;
}

bool cpi_slab_provide(struct cpi_slab *slab, uintptr_t upto)
{
    if (slab->side_size != 0 && !cpi_extent_reach(&slab->side, upto * slab->side_size))
        return false;
    return cpi_extent_reach(&slab->extent, slab->lead + upto * slab->stride);
}

bool cpi_slab_claim(struct cpi_slab *slab, uintptr_t fresh, uintptr_t n)
{
    return cpi_cas_strong(&slab->fresh, &fresh, fresh + n, relaxed, relaxed); /* [claim] [fresh] */
}

uintptr_t cpi_slab_fresh(const struct cpi_slab *slab)
{
    return cpi_load(&slab->fresh, relaxed); /* [fresh] */
}

void cpi_slab_reset(struct cpi_slab *slab)
{
    cpi_store(&slab->fresh, 0, relaxed); /* [fresh] */
}

enum cpi_place cpi_slab_place(const struct cpi_slab *slab, const void *address,
                              uintptr_t *index)
{
    uintptr_t offset = (uintptr_t)address - slab->prefix.base;

    *index = cpi_slab_index(slab, address);
    if (*index < slab->capacity)
        return *index < cpi_slab_fresh(slab) ? CPI_PLACE_SLOT : CPI_PLACE_UNUSED;
    if (offset < slab->capacity * slab->stride) {
        *index = offset / slab->stride;
        return CPI_PLACE_INSIDE;
    }
    *index = (uintptr_t)address < slab->prefix.base ? 0 : slab->capacity - 1;
    return CPI_PLACE_OUTSIDE;
}
