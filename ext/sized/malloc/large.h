/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * large.h - blocks above the largest class: pieces of one range of reserved addresses.
 *
 * Includes <stdbool.h>, <stddef.h>.  Sizes are whole pages, `align` is a power of two.
 */
#ifndef CPOOL_MALLOC_LARGE_H
#define CPOOL_MALLOC_LARGE_H

#include <stdbool.h>
#include <stddef.h>

/* Reserves the range.  Without it, which changes nothing but figures, each block is a map. */
void large_begin(void);

/* Returns a block, or NULL when the system refuses memory.  *zero tells whether its bytes are
 * known to be zero. */
void *large_alloc(size_t size, size_t align, bool *zero);

void large_free(void *block, size_t size);

/* The block with another size, in its place or in another, or NULL, after which it is as it
 * was. */
void *large_resize(void *block, size_t size, size_t wanted, size_t align);

#endif /* CPOOL_MALLOC_LARGE_H */
