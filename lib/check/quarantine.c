/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quarantine.c - freed slots that wait before they are used again.
 *
 * ORDERING TABLE
 *   draw | next fetch-and-add | acq_rel | look | a slot is about to move
 *   look | next load          | acquire | draw | a slot is about to move
 *   pass | place exchange     | acq_rel | pass | the slot's last contents
 *   peek | place load         | acquire | pass | the mark of the party that emptied the place
 *   tally | inside fetch-and-add, load | relaxed | - | -
 *   zero | place store, inside store   | relaxed | - | -
 *   left | place load in the child of a fork | relaxed | - | -
 *
 * A thread that finds no slot asks next which parties are inside (mark.h).
 */
#include "check/quarantine.h"

#include "base/atomic.h"

void cpi_quarantine_init(struct cpi_quarantine *quarantine, void *memory, size_t size)
{
    quarantine->places = memory;
    quarantine->size = size;
    atomic_init(&quarantine->next, 0);
    atomic_init(&quarantine->inside, 0);
}

void *cpi_quarantine_swap(struct cpi_quarantine *quarantine, void *slot)
{
    uint64_t number = cpi_fetch_add(&quarantine->next, 1u, acq_rel); /* [draw] */
    _Atomic uintptr_t *place = &quarantine->places[number % quarantine->size];
    uintptr_t out = cpi_exchange(place, (uintptr_t)slot, acq_rel); /* [pass] */

    if (out == 0)
        cpi_fetch_add(&quarantine->inside, (size_t)1, relaxed); /* [tally] */
    return (void *)out;
}

void *cpi_quarantine_take(struct cpi_quarantine *quarantine)
{
    uint64_t oldest = cpi_quarantine_moves(quarantine);
    size_t i;

    for (i = 0; i < quarantine->size; i++) {
        _Atomic uintptr_t *place = &quarantine->places[(oldest + i) % quarantine->size];
        uintptr_t slot = cpi_load(place, acquire); /* [peek] */

        if (slot != 0)
            slot = cpi_exchange(place, 0u, acq_rel); /* [pass] */
        if (slot != 0) {
            cpi_fetch_add(&quarantine->inside, (size_t)-1, relaxed); /* [tally] */
            return (void *)slot;
        }
    }
    return NULL;
}

uint64_t cpi_quarantine_moves(const struct cpi_quarantine *quarantine)
{
    return cpi_load(&quarantine->next, acquire); /* [look] */
}

size_t cpi_quarantine_count(const struct cpi_quarantine *quarantine)
{
    size_t inside = cpi_load(&quarantine->inside, relaxed); /* [tally] */

    return inside <= quarantine->size ? inside : 0; /* a take was counted before its put */
}

void cpi_quarantine_forked(struct cpi_quarantine *quarantine)
{
    size_t inside = 0;
    size_t i;

    for (i = 0; i < quarantine->size; i++)
        inside += cpi_load(&quarantine->places[i], relaxed) != 0; /* [left] */
    cpi_store(&quarantine->inside, inside, relaxed);              /* [zero] */
}

void cpi_quarantine_reset(struct cpi_quarantine *quarantine)
{
    size_t i;

    for (i = 0; i < quarantine->size; i++)
        cpi_store(&quarantine->places[i], 0u, relaxed);    /* [zero] */
    cpi_store(&quarantine->inside, (size_t)0, relaxed); /* [zero] */
}
