/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slab.h - where the slots lie, and which of them have ever been handed out.
 *
 * Floor 2.  Includes extent.h, and <cpool.h> for the pool's public prefix.
 *
 *   base             base + fresh * stride              base + capacity * stride
 *   | slot 0 | slot 1 | ... used before | never touched ...           |
 *
 * Invariants: slot i lies at base + i * stride; fresh only rises (but for a
 * reset) and never above capacity; the memory below it is usable; no byte of a
 * slot is ever read or written here.
 */
#ifndef CPI_SLAB_H
#define CPI_SLAB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cpool.h>

#include "compiler.h"
#include "extent.h"

struct cpi_slab {
    struct cpool_prefix prefix; /* first, for the inline path; constant */
    size_t slot_size;           /* constant; bytes the caller asked for */
    size_t stride;              /* constant; bytes from slot to slot */
    uintptr_t capacity;         /* constant; slots */
    struct cpi_extent extent;   /* from base - lead to the last slot's end */
    size_t lead;                /* constant; bytes of the extent before base */
    struct cpi_extent side;     /* side_size bytes for each slot, outside of it */
    size_t side_size;           /* constant; 0: there is no side memory */
    _Alignas(CPI_LINE) _Atomic uintptr_t fresh; /* slots handed out so far */
    char pad[CPI_LINE_PAIR - sizeof(uintptr_t)];
};

/* What an address is to a slab. */
enum cpi_place {
    CPI_PLACE_SLOT,    /* the start of a slot that has been handed out */
    CPI_PLACE_UNUSED,  /* the start of one that has not */
    CPI_PLACE_INSIDE,  /* inside the slab, not at the start of a slot */
    CPI_PLACE_OUTSIDE
};

/*
 * Fills in the prefix (but for table_offset) and all the rest.
 *
 * extent   covers lead bytes, then capacity * stride bytes; copied
 * lead     bytes in it before the first slot
 */
void cpi_slab_init(struct cpi_slab *slab, const struct cpi_extent *extent, size_t lead,
                   size_t slot_size, size_t stride, size_t capacity);

/* Gives each slot `size` bytes of side memory, committed along with the slot. */
void cpi_slab_set_side(struct cpi_slab *slab, const struct cpi_extent *side, size_t size);

/* Makes the memory of the first `upto` slots usable.  False if the operating
 * system refuses.  Before those slots are handed out. */
bool cpi_slab_provide(struct cpi_slab *slab, uintptr_t upto);

/*
 * Takes the n slots from `fresh` on, which fit, and whose memory has been
 * provided.  False if `fresh` is not the watermark: then nothing has happened.
 * Wait-free.
 */
bool cpi_slab_claim(struct cpi_slab *slab, uintptr_t fresh, uintptr_t n);

/* Slots handed out so far; what was handed out before the caller learnt of a
 * slot is counted. */
uintptr_t cpi_slab_fresh(const struct cpi_slab *slab);

/* All slots are fresh again.  Nobody else may be using the slab. */
void cpi_slab_reset(struct cpi_slab *slab);

/* Where an address lies; *index is set to the slot's, or to the nearest one's,
 * inside the slab. */
enum cpi_place cpi_slab_place(const struct cpi_slab *slab, const void *address,
                              uintptr_t *index);

static inline void *cpi_slab_slot(const struct cpi_slab *slab, uintptr_t index)
{
    return (void *)(slab->prefix.base + index * slab->stride);
}

/* The index of a slot, or something not below capacity for any other address. */
static inline uintptr_t cpi_slab_index(const struct cpi_slab *slab, const void *slot)
{
    uintptr_t index;

    CPOOL_INDEX_(&slab->prefix, slot, index);
    return index;
}

#endif /* CPI_SLAB_H */
