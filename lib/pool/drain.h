/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drain.h - taking all of the depot's slots for a while, to do something
 * about their memory.
 *
 * Includes pool.h.
 *
 *     depot                drain                    depot
 *     M  M  M  partial     1 1 0 1 1 1 0 0 1 ...    M  M  M  partial
 *     ---- begin ---->     a bit for each slot      ---- end ---->
 *
 * A draining thread takes all magazines, marks the slots in them in a bitmap, does what
 * it is there for, and fills the magazines again: portion by portion from the highest
 * slots downwards, so that those with the lowest come out first later.  Other threads
 * may have slots as soon as they have been given back.
 *
 * It holds the library's lock, so that there is one draining thread at a time, and none
 * at the moment of a fork.  An alloc that finds the depot empty meanwhile waits
 * until something is there again (cpi_drain_await).
 *
 * Invariants
 *   A marked slot lies below `slots`, and in the drain's hands until it is
 *   given back.
 *   The emptied magazines kept have room for all marked slots, and no more than
 *   they need: frees meanwhile want empty magazines, too.
 */
#ifndef CPI_DRAIN_H
#define CPI_DRAIN_H

#include "host/os.h"
#include "pool/pool.h"

struct cpi_drain {
    struct cpi_pool *pool;
    struct cpi_uncached uncached;
    struct cpi_tagstack magazines; /* emptied ones, as many as the slots will fill */
    uintptr_t held;                /* how many those are */
    uint64_t *marks;               /* bit i: slot i was found in the depot */
    uint64_t *wrong;               /* bit i: found once more, or above the watermark.
                                      NULL: no such slot, or no memory to say so */
    size_t size;                   /* bytes at each of the two */
    uintptr_t slots;               /* end of the range that is still to be returned */
    uintptr_t marked;              /* of them, not given back yet */
    uint32_t filling;              /* magazine being filled, 0: none */
    uint32_t rounds;               /* that it is to have */
    uint32_t count;                /* that it has */
};

/*
 * Does something about the slots first .. end - 1, which are in hand and about to be given back.
 * They are the next part of a run that goes down to `bottom`, all in hand.
 */
typedef void cpi_prepare(void *context, struct cpi_pool *pool, uintptr_t bottom, uintptr_t first,
                         uintptr_t end);

/* Takes the lock, and all of the depot's slots.  False if there is no memory for
 * the bitmap: then nothing has happened. */
bool cpi_drain_begin(struct cpi_drain *drain, struct cpi_pool *pool);

/* Takes what has come into the depot since. */
void cpi_drain_go_on(struct cpi_drain *drain);

/* Slots in hand at the very top, no more than `most`, all but one of the pool's at
 * most. */
uintptr_t cpi_drain_top(const struct cpi_drain *drain, uintptr_t most);

/* Keeps the slots from `left` upwards, which are all in hand: they are not given
 * back. */
void cpi_drain_keep(struct cpi_drain *drain, uintptr_t left);

/* Gives everything back, each portion after prepare, which may be NULL, and
 * releases the lock. */
void cpi_drain_end(struct cpi_drain *drain, cpi_prepare *prepare, void *context);

/* Reports what was wrong on behalf of `function`, and frees the bitmap.  Without
 * the lock: a handler may use other pools. */
void cpi_drain_close(struct cpi_drain *drain, const char *function);

/* Returns once a draining thread that has the depot's magazines has given some back, without a
 * lock. */
static inline void cpi_drain_await(const struct cpi_depot *depot)
{
    uint32_t now = cpi_depot_drains(depot);
    unsigned times = 0;

    while (now % 2 != 0 && !cpi_depot_has_stocked(depot) && cpi_depot_partial_rounds(depot) == 0 &&
           cpi_depot_drains(depot) == now)
        cpi_os_back_off(times++);
}

#endif /* CPI_DRAIN_H */
