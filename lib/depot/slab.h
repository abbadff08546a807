/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slab.h - where the slots lie, and which of them have been handed out.
 *
 *   base        fresh                capacity          slots
 *   | used before | never touched ... | may grow to here |
 *
 * Invariants: slot i lies at base + i * stride. fresh <= slots. fresh exceeds capacity only if the
 * pool was shrunk, or if a client takes more (CPOOL_CLIENT_FRESH).  The memory below fresh is
 * usable.  No byte of a slot is ever read or written here.
 *
 * ORDERING TABLE
 *   see    | bounds load          | acquire | slab.c's bump | the mark of the party that bumped
 */
#ifndef CPI_SLAB_H
#define CPI_SLAB_H

#include <cpool.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "depot/extent.h"

/* Memory outside the slots with a fixed number of bytes for each slot. */
struct cpi_side {
    struct cpi_extent extent;
    size_t size; /* constant: bytes a slot; 0: no such memory */
};

enum {
    CPI_SIDE_WORDS,   /* used by words.h */
    CPI_SIDE_RECORDS, /* used by records.h */
    CPI_SIDES
};

struct cpi_slab {
    uintptr_t base;             /* constant: address of slot 0 */
    uintptr_t inverse;          /* constant: as in the pool's descriptor */
    uintptr_t shift;            /* constant: as in the pool's descriptor */
    size_t slot_size;           /* constant: the size that the caller asked for */
    size_t stride;              /* constant: bytes from slot to slot */
    uintptr_t slots;            /* constant: slots with an address, the limit of capacity */
    bool grows;                 /* constant: the capacity is raised when all slots are live */
    struct cpi_side sides[CPI_SIDES];

    /* Constant: called by a thread that has just bumped fresh slots, before any other thread can
     * see them; or NULL. */
    void (*bumped)(const struct cpi_slab *slab, uintptr_t first, uintptr_t n);

    /* Written by all threads, so on its own cache line.  The pair's other line has what is used
     * along with it. */
    _Alignas(CPI_LINE) _Atomic uint64_t bounds; /* see CPI_BOUNDS */
    _Alignas(CPI_LINE) struct cpi_extent extent; /* from base - lead to the last slot's end */
    size_t lead; /* constant: bytes of the extent before base */
};

/* Completes a slab whose slot_size, stride, slots, lead, extent and sides are set, and the rest is
 * zero.  The extent covers `lead` bytes, then slots * stride bytes. */
void cpi_slab_init(struct cpi_slab *slab, uintptr_t capacity);

/* Makes the memory of the first `upto` slots usable, before they are handed out.  Returns false if
 * the operating system refuses. */
bool cpi_slab_provide(struct cpi_slab *slab, uintptr_t upto);

/* Both bounds in one word (doc/CONCURRENCY.md 3.7).  The high half is the capacity, the number of
 * slots that may be live at once.  The low half is fresh, the number handed out so far. */
#define CPI_BOUNDS(capacity, fresh) ((uint64_t)(capacity) << 32 | (uint64_t)(fresh))
#define CPI_BOUNDS_CAPACITY(bounds) ((uintptr_t)((bounds) >> 32))
#define CPI_BOUNDS_FRESH(bounds) ((uintptr_t)((bounds) & UINT32_MAX))

/* The current bounds.  They count every slot that was handed out before the caller learnt of it. */
static inline uint64_t cpi_slab_bounds(const struct cpi_slab *slab)
{
    return cpi_load(&slab->bounds, acquire); /* [see] */
}

static inline uintptr_t cpi_slab_fresh(const struct cpi_slab *slab)
{
    return CPI_BOUNDS_FRESH(cpi_slab_bounds(slab));
}

static inline uintptr_t cpi_slab_capacity(const struct cpi_slab *slab)
{
    return CPI_BOUNDS_CAPACITY(cpi_slab_bounds(slab));
}

/* Takes the n slots that follow the fresh watermark in `bounds`.  Their memory must have been
 * provided.  Returns false, and does nothing, if the bounds have changed.  Wait-free. */
bool cpi_slab_bump(struct cpi_slab *slab, uint64_t bounds, uintptr_t n);

/* Changes the bounds in any other way.  Returns false if they were not `from`.  The caller must
 * hold all slots that become fresh again.  Wait-free. */
bool cpi_slab_set_bounds(struct cpi_slab *slab, uint64_t from, uint64_t to);

/* Makes all slots fresh again.  Nobody else may be using the slab. */
void cpi_slab_reset(struct cpi_slab *slab);

/* What an address is for a slab: 0 for the start of a slot that has been handed out, CPOOL_EUNUSED
 * for that of another one, CPOOL_EMISALIGNED inside the slab, CPOOL_EFOREIGN outside.  Sets *index
 * to the slot's index, or to that of the nearest slot inside the slab. */
int cpi_slab_place(const struct cpi_slab *slab, const void *address, uintptr_t *index);

static inline void *cpi_slab_slot(const struct cpi_slab *slab, uintptr_t index)
{
    CPI_ASSERT(index <= slab->slots); /* also the end of the last slot */
    return (void *)(slab->base + index * slab->stride);
}

/* The index of a slot.  For any other address, a number that is not below `slots`. */
static inline uintptr_t cpi_slab_index(const struct cpi_slab *slab, const void *slot)
{
    uintptr_t index;

    CPOOL_INDEX_(slab, slot, index);
    return index;
}

#endif /* CPI_SLAB_H */
