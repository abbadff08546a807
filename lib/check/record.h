/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.h - what a checked pool keeps beside every slot.
 *
 * Includes slab.h.
 *
 *   side memory   | record 0 | record 1 | record 2 | ...
 *
 *   a record      | state | last alloc: when, thread, site | last free: the same |
 *
 * guard.c writes the state, and site.c the rest.
 * Nothing here is used by pools that are not checked.
 */
#ifndef CPI_RECORD_H
#define CPI_RECORD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

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
    _Atomic uintptr_t site;   /* the return address of the library's caller */
};

struct cpi_record {
    _Atomic uint32_t state; /* enum cpi_record_state */
    uint32_t pad;
    struct cpi_recorded calls[2]; /* the last alloc, and the last free */
};

static inline struct cpi_record *cpi_record_of(const struct cpi_slab *slab, uintptr_t index)
{
    const struct cpi_side *side = &slab->sides[CPI_SIDE_RECORDS];

    return (struct cpi_record *)(void *)(side->extent.base + index * side->size);
}

#endif /* CPI_RECORD_H */
