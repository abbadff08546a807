/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * records.h - what a checked pool keeps of every slot: its state, the places of its last alloc and
 * free, and whether it is in a frame.
 *
 *   side memory   | record 0 | record 1 | record 2 | ...
 *
 *   a record      | state | framed | last alloc: when, thread, site | last free: the same |
 *
 * guards.c writes the state, and records.c the rest.
 *
 * ORDERING TABLE
 *   framed | framed load, store, CAS   | relaxed | - | - (it changes hands with its slot)
 *   note   | stores of a call's members | relaxed | - | -
 */
#ifndef CPI_RECORDS_H
#define CPI_RECORDS_H

#include "base/atomic.h"
#include "base/error.h"
#include "depot/slab.h"
#include "host/os.h"
#include "track/words.h"

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

/* Whether the slab's slots have records. */
static inline bool cpi_slab_is_checked(const struct cpi_slab *slab)
{
    return slab->sides[CPI_SIDE_RECORDS].size != 0;
}

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

/* A slot is taken or freed by a call from `site`.  Only for the slot's owner. */
static inline void cpi_record_note(const struct cpi_slab *slab, uintptr_t index, bool is_free,
                                   const void *site)
{
    struct cpi_recorded *call = &cpi_record_of(slab, index)->calls[is_free];

    cpi_store(&call->when, cpi_os_now(), relaxed);         /* [note] */
    cpi_store(&call->thread, cpi_trace_thread(), relaxed); /* [note] */
    cpi_store(&call->site, (uintptr_t)site, relaxed);      /* [note] */
}

/*
 * The other functions read what other threads may be writing, and say what they find.  They
 * allocate nothing, take no lock, and follow no pointer into the pool's lists, so that
 * they work in a pool that is corrupted.  In a slab without records they find nothing.
 */

/* The place of the slot's last alloc or free, or NULL. */
const void *cpi_record_site(const struct cpi_slab *slab, uintptr_t index);

/* Adds the slot's state, and its last alloc and free, in lines of their own. */
void cpi_record_tell(struct cpi_text *text, const struct cpi_slab *slab, uintptr_t index);

/* leaks.c.  Lists the live slots by the place that took them, those with most slots first: the
 * number, the place, an example, the ages of the oldest and the youngest.  Returns the number of
 * live slots that it met. */
size_t cpi_leaks_list(const struct cpi_slab *slab, cpi_line_sink *sink, void *context);

/* For leaks.c.  The contents of a struct cpi_recorded. */
struct cpi_visit {
    uint64_t when;
    uintptr_t thread;
    uintptr_t caller;
};

/* Returns false if there was none.  Two calls may be mixed up while the slot changes hands. */
bool cpi_record_read(const struct cpi_slab *slab, uintptr_t index, bool is_free,
                     struct cpi_visit *visit);

/* Adds the name of the place's address, and the address.  Adds a time before `now`, in seconds. */
void cpi_record_add_place(struct cpi_text *text, const struct cpi_visit *visit);
void cpi_record_add_age(struct cpi_text *text, uint64_t when, uint64_t now);

#endif /* CPI_RECORDS_H */
