/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * records.h - what a checked pool records for every slot: whether the gap after it is filled,
 * whether it is in a frame, and the places of its last alloc and free.
 *
 *   side memory   | record 0 | record 1 | record 2 | ...
 *
 *   a record      | filled | framed | last alloc, last free: when, thread, site each |
 *
 * guards.c reads and writes `filled`, records.c the rest.
 *
 * ORDERING TABLE
 *   framed | framed load, store, CAS   | relaxed | - | - (it passes with its slot)
 *   note   | stores of a call's members | relaxed | - | -
 */
#ifndef CPI_RECORDS_H
#define CPI_RECORDS_H

#include "base/atomic.h"
#include "base/error.h"
#include "depot/slab.h"
#include "host/os.h"
#include "track/words.h"

/* One alloc or free. */
struct cpi_recorded {
    _Atomic uint64_t when;    /* nanoseconds of the monotonic clock, 0: never */
    _Atomic uintptr_t thread; /* what cpi_trace_thread returned */
    _Atomic uintptr_t site;   /* the return address of the library's caller */
};

struct cpi_record {
    _Atomic uint32_t filled; /* 1 once the gap after the slot is filled */
    _Atomic uint32_t framed; /* 1 while the slot is in a frame, whose owner writes this */
    struct cpi_recorded calls[2]; /* the last alloc, and the last free */
};

/* Whether the slab has records. */
static inline bool cpi_slab_is_checked(const struct cpi_slab *slab)
{
    return slab->sides[CPI_SIDE_RECORDS].size != 0;
}

static inline struct cpi_record *cpi_record_of(const struct cpi_slab *slab, uintptr_t index)
{
    const struct cpi_side *side = &slab->sides[CPI_SIDE_RECORDS];

    return (struct cpi_record *)(void *)(side->extent.base + index * side->size);
}

/* Marks a live slot as part of a frame.  Returns false if it is in one already.  Of several
 * threads, one gets true. */
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

/* Records a call from `site`.  Only for the slot's owner. */
static inline void cpi_recorded_note(struct cpi_recorded *call, const void *site)
{
    cpi_store(&call->when, cpi_os_now(), relaxed);         /* [note] */
    cpi_store(&call->thread, cpi_trace_thread(), relaxed); /* [note] */
    cpi_store(&call->site, (uintptr_t)site, relaxed);      /* [note] */
}

/* Adds when, by whom and where the call was made.  Returns false if there was none. */
bool cpi_recorded_tell(struct cpi_text *text, const struct cpi_recorded *call, bool is_free);

/*
 * The other functions read records that other threads may be writing.  They allocate nothing, take
 * no lock, and follow no pointer into the pool's lists, so they work even in a corrupted pool.  In
 * a slab without records they find nothing.
 */

/* Where the slot was last allocated or freed, or NULL. */
const void *cpi_record_site(const struct cpi_slab *slab, uintptr_t index);

/* Adds lines with the slot's state, and its last alloc and free. */
void cpi_record_tell(struct cpi_text *text, const struct cpi_slab *slab, uintptr_t index);

/* Lists the live slots, grouped by where they were allocated, largest group first: the
 * number, the place, an example, the ages of the oldest and the youngest.  Returns the number of
 * live slots found. */
size_t cpi_leaks_list(const struct cpi_slab *slab, cpool_write_t write, void *arg);

#endif /* CPI_RECORDS_H */
