/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * checks.h - what a checked pool keeps beside every slot.
 *
 *   slab          lead | slot 0 | gap 0 | slot 1 | gap 1 | ...
 *   side memory   | record 0 | record 1 | record 2 | ...
 *
 *   a record      | state | last alloc: when, thread, site | last free: the same |
 *
 * The gap after a slot is at the same time the gap before the next one.  A gap is filled
 * when the slot before it is taken from the fresh ones, never at creation.
 *
 * guard.c writes the state, and pool_check.c the rest.
 * But for the tools' feature, nothing here is used by pools that are not checked.
 *
 * ORDERING TABLE
 *   framed | framed load, store, CAS | relaxed | - | - (it changes hands with its slot)
 */
#ifndef CPI_CHECKS_H
#define CPI_CHECKS_H

#include "base/atomic.h"
#include "base/error.h"
#include "depot/slab.h"
#include "track/track.h"

/* --- Records --- */

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

/* --- guard.c: whether a slot was written outside of its life ---
 *
 * The bytes around it are intact, and so are its own while it is free. */

/* Least bytes in a gap. */
#define CPI_GUARD_GAP ((size_t)8)

/* Most bytes that are filled and verified at each end of a gap. */
#define CPI_GUARD_REACH ((size_t)64)

/* The byte that freed slots are filled with.  A pointer made of it leads nowhere. */
#define CPI_GUARD_FREED 0xDFu

/* Damaged bytes that are shown. */
#define CPI_DAMAGE_SHOWN 16

enum cpi_damage_place {
    CPI_DAMAGE_BEFORE, /* in the gap before the slot */
    CPI_DAMAGE_AFTER,
    CPI_DAMAGE_INSIDE /* in a slot that is free */
};

/* Bytes that were overwritten. */
struct cpi_damage {
    uintptr_t index; /* of the slot */
    enum cpi_damage_place place;
    size_t size;  /* bytes of the gap, or of the slot */
    size_t first; /* offset in the gap or slot of the lowest damaged byte */
    size_t last;  /* and of the highest */
    size_t shown; /* bytes below, from the first one on */
    unsigned char expected[CPI_DAMAGE_SHOWN];
    unsigned char found[CPI_DAMAGE_SHOWN];
};

/* The error code of a damage. */
static inline int cpi_damage_code(const struct cpi_damage *damage)
{
    return damage->place == CPI_DAMAGE_INSIDE ? CPOOL_EFREED : CPOOL_EGUARD;
}

/* Fills the gaps of n slots just handed out.  Only for the thread that took them, before
 * it shows them to other threads. */
void cpi_guard_bumped(const struct cpi_slab *slab, uintptr_t first, uintptr_t n);

/* Whether the gap after the slot has been filled. */
bool cpi_guard_is_filled(const struct cpi_slab *slab, uintptr_t index);

/* Looks at the gaps beside a slot.  Returns false, with the damage, if one was
 * overwritten.  The gap is repaired, so that damage is found once.  Any thread,
 * wait-free. */
bool cpi_guard_verify(const struct cpi_slab *slab, uintptr_t index, struct cpi_damage *damage);

/* The slot is taken.  Waits for a thread that looks at it.  Returns false, with the
 * damage, if it had been filled and was written since.  Only for the slot's owner. */
bool cpi_guard_take(const struct cpi_slab *slab, uintptr_t index, struct cpi_damage *damage);

/* The slot is free.  `fills`: and filled with the pattern.  Only for the slot's owner. */
void cpi_guard_give(const struct cpi_slab *slab, uintptr_t index, bool fills);

/* Looks at a slot that may be free and filled, at any time: while it does, the slot is
 * not taken.  Returns false, with the damage, if it was written to.  The slot is filled
 * anew then.  With forks held off, because a child might wait for ever. */
bool cpi_guard_inspect(const struct cpi_slab *slab, uintptr_t index, struct cpi_damage *damage);

/* --- pool_check.c --- */

/* Looks at the gaps of a checked pool's slots from *index to before `end`, and at those that are
 * free and filled, concurrently with threads that use the pool, until one is damaged.  *index is
 * then that slot's.  Returns 0 or the code that was reported.  Takes the lock. */
int cpi_pool_verify_next(const struct cpi_pool *pool, uintptr_t *index, uintptr_t end,
                         const char *function);

#endif /* CPI_CHECKS_H */
