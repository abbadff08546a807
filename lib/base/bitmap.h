/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bitmap.h - bitmaps in words of 64 bits.
 *
 * Includes standard headers only.  The caller keeps other threads away.
 */
#ifndef CPI_BITMAP_H
#define CPI_BITMAP_H

#include <stdbool.h>
#include <stdint.h>

#define CPI_WORD_BITS 64u

static inline bool cpi_bitmap_is_set(const uint64_t *bitmap, uintptr_t index)
{
    return (bitmap[index / CPI_WORD_BITS] >> index % CPI_WORD_BITS & 1u) != 0;
}

static inline void cpi_bitmap_set(uint64_t *bitmap, uintptr_t index)
{
    bitmap[index / CPI_WORD_BITS] |= (uint64_t)1 << index % CPI_WORD_BITS;
}

/* The largest number not above this one such that the bit below it is `set`, or 0 if there
 * is none. */
static inline uintptr_t cpi_bitmap_find_down(const uint64_t *bitmap, uintptr_t above, bool set)
{
    const uint64_t other = set ? 0 : UINT64_MAX;

    while (above > 0) {
        if (above % CPI_WORD_BITS == 0 && bitmap[above / CPI_WORD_BITS - 1] == other)
            above -= CPI_WORD_BITS;
        else if (cpi_bitmap_is_set(bitmap, above - 1) == set)
            break;
        else
            above--;
    }
    return above;
}

#endif /* CPI_BITMAP_H */
