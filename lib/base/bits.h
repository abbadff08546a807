/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bits.h - arithmetic on sizes and addresses, and bitmaps.
 */
#ifndef CPI_BITS_H
#define CPI_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The lower of two numbers. */
static inline size_t cpi_lower(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* n, but at least `least`, and then at most `most`. */
static inline size_t cpi_within(size_t n, size_t least, size_t most)
{
    return cpi_lower(n > least ? n : least, most);
}

/* n rounded down to a multiple of `align`, a power of two. */
static inline size_t cpi_align_down(size_t n, size_t align)
{
    return n & ~(align - 1);
}

/* n rounded up to a multiple of `align`, a power of two.  The caller makes sure that this does not
 * overflow. */
static inline size_t cpi_align_up(size_t n, size_t align)
{
    return cpi_align_down(n + align - 1, align);
}

/* The next three return false on overflow, and then *result means nothing. */

static inline bool cpi_add(size_t a, size_t b, size_t *result)
{
    return !__builtin_add_overflow(a, b, result);
}

static inline bool cpi_multiply(size_t a, size_t b, size_t *result)
{
    return !__builtin_mul_overflow(a, b, result);
}

static inline bool cpi_align_up_checked(size_t n, size_t align, size_t *result)
{
    bool fits = cpi_add(n, align - 1, result);

    *result = cpi_align_down(*result, align);
    return fits;
}

/* The largest power of two that divides n, which is not 0. */
static inline size_t cpi_lowest_bit(size_t n)
{
    return n & (~n + 1);
}

/* The inverse of an odd number modulo 2^word.  Each step of Newton's iteration doubles the number
 * of correct low bits, and odd x odd = 1 modulo 8 gives the first three. */
static inline uintptr_t cpi_inverse(uintptr_t odd)
{
    uintptr_t inverse = odd;

    for (unsigned correct = 3; correct < sizeof inverse * 8u; correct *= 2)
        inverse *= 2u - odd * inverse;
    return inverse;
}

/* Bitmaps in words of 64 bits.  Only one thread at a time may use a bitmap. */
#define CPI_WORD_BITS 64u

static inline bool cpi_bitmap_is_set(const uint64_t *bitmap, uintptr_t index)
{
    return (bitmap[index / CPI_WORD_BITS] >> index % CPI_WORD_BITS & 1u) != 0;
}

static inline void cpi_bitmap_set(uint64_t *bitmap, uintptr_t index)
{
    bitmap[index / CPI_WORD_BITS] |= (uint64_t)1 << index % CPI_WORD_BITS;
}

/* The largest number up to `above` such that the bit below it equals `set`, or 0 if there is
 * none. */
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

#endif /* CPI_BITS_H */
