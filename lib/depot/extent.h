/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extent.h - a range of addresses that becomes usable from its start upwards.
 *
 *   base                    base + committed               base + size
 *   | readable and writable | reserved, without memory  |
 */
#ifndef CPI_EXTENT_H
#define CPI_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpi_extent {
    char *base;               /* constant: page-aligned, unless its page is committed already */
    size_t size;              /* constant: bytes */
    size_t page;              /* constant: bytes; steps are multiples of it */
    _Atomic size_t committed; /* bytes from base; only grows */
    _Atomic uint64_t calls;   /* requests to the operating system so far */
};

/* An extent over reserved address space, whose first `committed` bytes are usable already. */
void cpi_extent_init(struct cpi_extent *extent, void *base, size_t size, size_t page,
                     size_t committed);

/* Makes the first `bytes` bytes usable; bytes <= size.  Returns false if the operating system
 * refuses: nothing has changed then.  Lock-free, makes a system call only when it has to grow. */
bool cpi_extent_reach(struct cpi_extent *extent, size_t bytes);

#endif /* CPI_EXTENT_H */
