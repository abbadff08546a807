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
 *
 * ORDERING TABLE
 *   framed | framed load, store, CAS | relaxed | - | - (it changes hands with its slot)
 */
#ifndef CPI_RECORD_H
#define CPI_RECORD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
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
    _Atomic uint32_t state;  /* enum cpi_record_state */
    _Atomic uint32_t framed; /* 1 while the slot is in a frame, whose owner writes it */
    struct cpi_recorded calls[2]; /* the last alloc, and the last free */
};

static inline struct cpi_record *cpi_record_of(const struct cpi_slab *slab, uintptr_t index)
{
    const struct cpi_side *side = &slab->sides[CPI_SIDE_RECORDS];

    return (struct cpi_record *)(void *)(side->extent.base + index * side->size);
}

/* A live slot joins a frame.  Returns false if it is in one: of several threads one gets true. */
static inline bool cpi_record_enter_frame(const struct cpi_slab *slab, uintptr_t index)
{
    uint32_t none = 0;

    return cpi_cas_strong(&cpi_record_of(slab, index)->framed, &none, 1u, /* [framed] */
                          relaxed, relaxed);                              /* [framed] */
}

static inline void cpi_record_leave_frame(const struct cpi_slab *slab, uintptr_t index)
{
    cpi_store(&cpi_record_of(slab, index)->framed, 0, relaxed); /* [framed] */
}

static inline bool cpi_record_is_framed(const struct cpi_slab *slab, uintptr_t index)
{
    return cpi_load(&cpi_record_of(slab, index)->framed, relaxed) != 0; /* [framed] */
}

#endif /* CPI_RECORD_H */
