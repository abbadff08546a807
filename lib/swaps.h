/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swaps.h - which slot is to take the place of which other one, as a hash table.
 *
 * Floor 2.  Includes nothing of the library (swaps.c: also os.h).
 *
 * Linear probing over a power of two of entries, at most half of them in use (D. Knuth,
 * The Art of Computer Programming, volume 3, section 6.4).  A slot may have many pairs.
 * They are numbered, and the number counts for the place, so that each of them is found as
 * soon as those of other slots.  The memory is the operating system's.  Not thread-safe.
 */
#ifndef CPI_SWAPS_H
#define CPI_SWAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpi_swap {
    const void *slot; /* NULL: an unused entry */
    void *other;      /* NULL: it has taken its place */
    uint32_t number;  /* of this pair among the slot's, from 0 */
    uint32_t pairs;   /* in pair 0: the slot's pairs that were not taken */
    uint32_t passed;  /* in pair 0: those that were passed */
};

struct cpi_swaps {
    struct cpi_swap *entries;
    size_t room; /* entries, a power of two or 0 */
    size_t used;
};

void cpi_swaps_init(struct cpi_swaps *swaps);
void cpi_swaps_fini(struct cpi_swaps *swaps);

/* Adds a pair.  A slot may have several, as it was promoted, freed, and obtained again.
 * False if the operating system refuses memory. */
bool cpi_swaps_add(struct cpi_swaps *swaps, const void *slot, void *other);

/* A slot that takes the place of this one, each once, or NULL.  Nothing is added later. */
void *cpi_swaps_take(struct cpi_swaps *swaps, const void *slot);

/* Counts slots that are met: pass returns true as often as the slot has pairs.  rewind begins
 * anew. */
void cpi_swaps_rewind(struct cpi_swaps *swaps);
bool cpi_swaps_pass(struct cpi_swaps *swaps, const void *slot);

#endif /* CPI_SWAPS_H */
