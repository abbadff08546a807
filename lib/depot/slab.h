/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slab.h - where the slots lie, and which of them have ever been handed out.
 *
 *   base        fresh                capacity          slots
 *   | used before | never touched ... | may be grown to |
 *
 * Invariants: slot i lies at base + i * stride.  fresh <= slots, and beyond capacity
 * only where the pool was shrunk, or a client takes more (CPOOL_CLIENT_FRESH).  The memory below
 * fresh is usable.  No byte of a slot is ever read or written here.
 *
 * ORDERING TABLE
 *   see    | bounds load          | acquire | slab.c's bump | the mark of the party that bumped
 */
#ifndef CPI_SLAB_H
#define CPI_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cpool.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "depot/extent.h"

/* Memory beside the slots, so many bytes for each. */
struct cpi_side {
    struct cpi_extent extent;
    size_t size; /* constant: bytes a slot, or 0 without this memory */
};

enum {
    CPI_SIDE_WORDS,   /* words.h's */
    CPI_SIDE_RECORDS, /* records.h's */
    CPI_SIDES
};

struct cpi_slab {
    uintptr_t base;             /* constant: address of slot 0 */
    uintptr_t inverse;          /* constant, as in the pool's descriptor */
    uintptr_t shift;            /* likewise */
    size_t slot_size;           /* constant: bytes the caller asked for */
    size_t stride;              /* constant: bytes from slot to slot */
    uintptr_t slots;            /* constant: slots that have an address, and that capacity may
                                   grow to */
    bool grows;                 /* constant: the capacity is raised when all slots are live */
    struct cpi_side sides[CPI_SIDES];

    /* Constant: called by a thread that has handed out slots for the first time, before it shows
     * them to others, or NULL. */
    void (*bumped)(const struct cpi_slab *slab, uintptr_t first, uintptr_t n);

    /* Written by all, on a cache line of its own.  The other line of the pair has what is used
     * along with it. */
    _Alignas(CPI_LINE) _Atomic uint64_t bounds; /* see CPI_BOUNDS */
    char pad[CPI_LINE - sizeof(uint64_t)];
    _Alignas(CPI_LINE) struct cpi_extent extent; /* from base - lead to the last slot's end */
    size_t lead; /* constant: bytes of the extent before base */
};

/* The limits that a slab is made for, members as in struct cpi_slab. */
struct cpi_slab_shape {
    size_t slot_size;
    size_t stride;
    size_t capacity;
    size_t slots;
};

/* The kinds of an address for a slab. */
enum cpi_place {
    CPI_PLACE_SLOT,    /* the start of a slot that has been handed out */
    CPI_PLACE_UNUSED,  /* the start of one that has not */
    CPI_PLACE_INSIDE,  /* inside the slab, not at the start of a slot */
    CPI_PLACE_OUTSIDE
};

/*
 * Fills in a slab.
 *
 * extent   covers lead bytes, then slots * stride bytes, copied
 * lead     bytes in it before the first slot
 */
void cpi_slab_init(struct cpi_slab *slab, const struct cpi_extent *extent, size_t lead,
                   const struct cpi_slab_shape *shape);

/* Gives each slot `size` bytes of side memory, committed along with the slot. */
void cpi_slab_set_side(struct cpi_slab *slab, unsigned side, const struct cpi_extent *extent,
                       size_t size);

/* Makes the memory of the first `upto` slots usable.  False if the operating
 * system refuses.  Before those slots are handed out. */
bool cpi_slab_provide(struct cpi_slab *slab, uintptr_t upto);

/*
 * Both bounds in one word, so that a bump compares with the very capacity that
 * a shrinking pool changes.  Above is capacity, slots that may be live at once.
 * Below is fresh, slots handed out so far.
 */
#define CPI_BOUNDS(capacity, fresh) ((uint64_t)(capacity) << 32 | (uint64_t)(fresh))
#define CPI_BOUNDS_CAPACITY(bounds) ((uintptr_t)((bounds) >> 32))
#define CPI_BOUNDS_FRESH(bounds) ((uintptr_t)((bounds) & UINT32_MAX))

/* The bounds now.  Every slot handed out before the caller learnt of it is
 * counted. */
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

/*
 * Takes the n slots that follow the fresh watermark in `bounds`.  Their memory has been
 * provided.  False if these are not the bounds any more: then nothing has happened.  Wait-free.
 */
bool cpi_slab_bump(struct cpi_slab *slab, uint64_t bounds, uintptr_t n);

/*
 * Changes the bounds in any other way.  Returns false if they were not `from`.  Slots that become
 * fresh again by this were the caller's, all of them.  Wait-free.
 */
bool cpi_slab_set_bounds(struct cpi_slab *slab, uint64_t from, uint64_t to);

/* All slots are fresh again.  Nobody else may be using the slab. */
void cpi_slab_reset(struct cpi_slab *slab);

/* Where an address lies.  *index is set to the slot's, or to the nearest one's, inside the slab. */
enum cpi_place cpi_slab_place(const struct cpi_slab *slab, const void *address,
                              uintptr_t *index);

static inline void *cpi_slab_slot(const struct cpi_slab *slab, uintptr_t index)
{
    CPI_ASSERT(index <= slab->slots); /* the end of the last slot, too */
    return (void *)(slab->base + index * slab->stride);
}

/* The index of a slot, or something not below `slots` for any other address. */
static inline uintptr_t cpi_slab_index(const struct cpi_slab *slab, const void *slot)
{
    uintptr_t index;

    CPOOL_INDEX_(slab, slot, index);
    return index;
}

#endif /* CPI_SLAB_H */
