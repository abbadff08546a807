/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.h - what a checked pool keeps beside every slot.
 *
 * Includes slab.h and trace.h.
 *
 *   side memory   | record 0 | record 1 | record 2 | ...
 *
 *   a record      | state | last alloc | last free |
 *                         | when, thread, here, frame 0, frame 1 ... |
 *
 * The number of frames is the pool's.  guard.c writes the state, and site.c the rest.
 * Nothing here is used by pools that are not checked.
 */
#ifndef CPI_RECORD_H
#define CPI_RECORD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "host/trace.h"
#include "store/slab.h"

/* The states of a slot and of the gap after it. */
enum cpi_record_state {
    CPI_RECORD_NEW,   /* the gap is not filled yet */
    CPI_RECORD_IDLE,  /* the slot is free, with any contents */
    CPI_RECORD_TAKEN, /* the slot is live, or was when a reset took it back */
    CPI_RECORD_FREED, /* the slot is free, and filled with the pattern of freed ones */
    CPI_RECORD_HELD   /* it is FREED, and a thread looks at its contents */
};

/* One alloc or free. */
struct cpi_recorded {
    _Atomic uint64_t when;    /* nanoseconds of the monotonic clock, 0: never */
    _Atomic uintptr_t thread; /* cpi_trace_thread's number */
    _Atomic uintptr_t frames[]; /* return addresses, that of the library's caller first */
};

struct cpi_record {
    _Atomic uint32_t state; /* enum cpi_record_state */
    uint32_t pad;
};

/* Bytes of one call, and of a record, with so many frames. */
static inline size_t cpi_record_call_size(size_t frames)
{
    size_t size = offsetof(struct cpi_recorded, frames) + frames * sizeof(uintptr_t);

    return (size + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
}

static inline size_t cpi_record_size(size_t frames)
{
    return sizeof(struct cpi_record) + 2 * cpi_record_call_size(frames);
}

static inline struct cpi_record *cpi_record_of(const struct cpi_slab *slab, uintptr_t index)
{
    const struct cpi_side *side = &slab->sides[CPI_SIDE_RECORDS];

    return (struct cpi_record *)(void *)(side->extent.base + index * side->size);
}

/* The last alloc of a slot, or its last free. */
static inline struct cpi_recorded *cpi_record_call(const struct cpi_slab *slab, uintptr_t index,
                                               int is_free)
{
    size_t size = (slab->sides[CPI_SIDE_RECORDS].size - sizeof(struct cpi_record)) / 2;
    char *first = (char *)cpi_record_of(slab, index) + sizeof(struct cpi_record);

    return (struct cpi_recorded *)(void *)(first + (is_free ? size : 0));
}

/* Frames that a record keeps.  Its padding may have room for one more than a trace has. */
static inline size_t cpi_record_frames(const struct cpi_slab *slab)
{
    size_t size = (slab->sides[CPI_SIDE_RECORDS].size - sizeof(struct cpi_record)) / 2;
    size_t frames = (size - offsetof(struct cpi_recorded, frames)) / sizeof(uintptr_t);

    return frames < CPI_TRACE_MAX ? frames : CPI_TRACE_MAX;
}

#endif /* CPI_RECORD_H */
