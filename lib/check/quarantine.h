/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quarantine.h - freed slots that wait before they are used again.
 *
 * A ring of places in the pool's memory.  A slot that is put in takes the next place,
 * and the slot that had it comes out: the one that has waited for as long as there are
 * places.  A thread that finds the pool dry takes the oldest out before its time.
 */
#ifndef CPI_QUARANTINE_H
#define CPI_QUARANTINE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct cpi_quarantine {
    _Atomic uintptr_t *places; /* constant: `size` of them, each a slot or 0 */
    size_t size;               /* constant: 0 without a quarantine */
    _Atomic uint64_t next;     /* slots put in so far */
    _Atomic size_t inside;     /* places with a slot */
};

/* `memory`, of `size` words, is zero. */
void cpi_quarantine_init(struct cpi_quarantine *quarantine, void *memory, size_t size);

/* Puts a slot in, at the place of the oldest one.  Returns the one that comes out, or NULL.
 * Any thread, wait-free, async-signal-safe. */
void *cpi_quarantine_swap(struct cpi_quarantine *quarantine, void *slot);

/* Takes the oldest slot out, or one of the oldest if other threads put slots in
 * meanwhile.  Returns NULL if there is none.  Any thread, wait-free, async-signal-safe. */
void *cpi_quarantine_take(struct cpi_quarantine *quarantine);

/* Slots put in so far: a thread that found none looks whether some came meanwhile. */
uint64_t cpi_quarantine_moves(const struct cpi_quarantine *quarantine);

/* Slots inside, exact while no thread uses it.  Wait-free. */
size_t cpi_quarantine_count(const struct cpi_quarantine *quarantine);

/* In the child of a fork: a thread may have vanished before it counted its slot. */
void cpi_quarantine_forked(struct cpi_quarantine *quarantine);

/* Forgets all slots.  No thread may be using it. */
void cpi_quarantine_reset(struct cpi_quarantine *quarantine);

#endif /* CPI_QUARANTINE_H */
