/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swaps.h - which slot is to take the place of which other one, as a hash table.
 *
 * Floor 2.  Includes nothing of the library (swaps.c: also os.h).
 *
 * Linear probing over a power of two of entries, at most half of them in use (D. Knuth,
 * The Art of Computer Programming, volume 3, section 6.4).  Its memory is the operating
 * system's.  Not thread-safe.
 */
#ifndef CPI_SWAPS_H
#define CPI_SWAPS_H

#include <stdbool.h>
#include <stddef.h>

struct cpi_swap {
    const void *slot; /* NULL: an unused entry */
    void *other;      /* NULL: it has taken its place */
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

/* A slot that takes the place of this one, each once, or NULL. */
void *cpi_swaps_take(struct cpi_swaps *swaps, const void *slot);

#endif /* CPI_SWAPS_H */
