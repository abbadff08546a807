/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * samples.h - slots that are handed out beside a page that traps, one alloc in so many.
 *
 *   slab    | slot 0 | slot 1 | slot 2 | ...               the library knows only these
 *                         ^ index
 *   zone    | trap |[slot] room 0     | trap |    room 1 [slot]| trap | ...
 *
 * A sampled slot is an alias.  The pool takes a slot from the slab as always, but its user gets a
 * place in the zone, at an edge of a room.  When the user frees it, the room is closed, and the
 * slab's slot goes back as always.  So nothing else in the library knows of the place.  A closed
 * room is used again after all others have had their turn, and not before CPI_SAMPLE_REST, which
 * bounds what sampling costs.
 *
 * (Guards for a sample of all blocks: GWP-ASan, Serebryany et al., "GWP-ASan: Sampling-Based
 * Detection of Memory-Safety Bugs in Production", ICSE-SEIP 2024.)
 */
#ifndef CPI_SAMPLES_H
#define CPI_SAMPLES_H

#include "base/error.h"
#include "check/records.h"
#include "process/descriptor.h"

/* The number of places of a pool. */
#define CPI_SAMPLES 64u

/* Nanoseconds for which a closed room stays closed. */
#define CPI_SAMPLE_REST UINT64_C(250000000)

/* The largest number of allocs for a sample, and how many times as many there are before the next
 * if the place whose turn it was cannot be used, so that a fast program does not try in vain. */
#define CPI_SAMPLE_MAX ((uint32_t)1 << 27)
#define CPI_SAMPLES_BUSY 8u

/* Return addresses that are kept of a stack, beyond the program's call of the library. */
#define CPI_SAMPLE_DEPTH 12u

/* The state of a place, in the lowest bits: BUSY is one more than OPEN.  Above them is a number
 * that each use changes, so 0 was never used. */
enum { CPI_PLACE_CLOSED, CPI_PLACE_OPEN, CPI_PLACE_BUSY, CPI_PLACE_STATE = 3 };

struct cpi_sampled_call {
    struct cpi_recorded call;
    _Atomic uintptr_t stack[CPI_SAMPLE_DEPTH]; /* a shorter one ends with 0 */
};

struct cpi_place {
    _Atomic uint32_t state;
    _Atomic uintptr_t index;          /* of the slab's slot */
    struct cpi_sampled_call calls[2]; /* the alloc, and the free */
};

struct cpi_samples {
    struct cpi_zone zone;  /* constant; the memory of this structure ends where it begins */
    struct cpi_zone *listed; /* constant: a copy, which everybody finds */
    size_t head;           /* constant: bytes of that */
    size_t page;           /* constant */
    uint32_t every;        /* constant: allocs for each sample */
    _Atomic uint32_t turn; /* places tried so far */
    _Atomic uintptr_t live[CPI_SAMPLES]; /* 1 plus the index while a place is open, or 0 */
    struct cpi_place place[CPI_SAMPLES];
};

/* begin, with the lock held, provides the memory for the samples of a pool.  It returns NULL if the
 * system refuses, or the alignment is above a page, or there are too many. end gives it back. */
struct cpi_samples *cpi_samples_begin(const struct cpi_slab *slab, size_t align, size_t offset,
                                      uint32_t every);
void cpi_samples_end(struct cpi_samples *samples);

/* Gives a slot of the slab a place, for an alloc from `site`.  Returns NULL if the place whose turn
 * it is may not be used.  Any thread, lock-free but for the system's call; walks the stack. */
void *cpi_sample_open(struct cpi_samples *samples, uintptr_t index, const void *site);

/* Ends the use of the place for a free from `site`.  Of several threads, one gets true. */
bool cpi_sample_close(struct cpi_samples *samples, const void *slot, uintptr_t index,
                      const void *site);

/* Closes all places, while nobody uses the pool. */
void cpi_samples_reset(struct cpi_samples *samples, const void *site);

/* What an address is, like cpi_slab_place: CPOOL_EDOUBLEFREE for a slot that has been freed,
 * CPOOL_EFOREIGN outside of all slots.  Sets *index except for CPOOL_EFOREIGN. */
int cpi_sample_place(const struct cpi_samples *samples, const void *address, uintptr_t *index);

/* The place of a slot of the slab, or NULL.  Any thread, wait-free. */
void *cpi_sample_of(const struct cpi_samples *samples, uintptr_t index);

/* Adds what is known of an address in the zone: the nearest slot, its calls, their stacks.  Sets
 * *slot and *index.  Returns false, and does nothing, if there was never a slot. */
bool cpi_sample_tell(struct cpi_text *text, const struct cpi_samples *samples,
                     const void *address, void **slot, uintptr_t *index);

/* Adds the thread and its stack, without `caller` and what that has called. */
void cpi_stack_tell(struct cpi_text *text, const void *caller);

/* Reads the stack of a place's alloc.  Returns false if its slot is not live. */
bool cpi_sample_read(const struct cpi_samples *samples, size_t number,
                     uintptr_t stack[CPI_SAMPLE_DEPTH + 1]);

#endif /* CPI_SAMPLES_H */
