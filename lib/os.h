/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os.h - all that the library wants from the operating system.
 *
 * Floor 1.  Every #ifdef about operating systems stands in os_posix.c.
 * Sizes are in bytes; addresses and sizes handed to commit and release are
 * multiples of the page size.
 */
#ifndef CPI_OS_H
#define CPI_OS_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes in a page, a power of two. */
size_t cpi_os_page_size(void);

/* Address space without memory behind it; touching it traps.  NULL if refused.
 * Page-aligned. */
void *cpi_os_reserve(size_t size);

/* Makes part of a reservation readable and writable; it reads as zero until
 * written.  Doing it twice is harmless.  False if refused: nothing has changed
 * then.  Async-signal-safe. */
bool cpi_os_commit(void *address, size_t size);

/* Readable and writable zeroed memory, resident as far as it is touched, or
 * NULL. */
void *cpi_os_map(size_t size);

/* Gives back what reserve or map returned, whole. */
void cpi_os_release(void *address, size_t size);

/* Whether cpi_os_barrier works in this process; makes it ready. */
bool cpi_os_barrier_ready(void);

/* Every thread of the process that runs at the moment passes a full memory
 * barrier before this returns; those that do not run have passed one.  False if
 * the system refuses, which it did not when this was made ready. */
bool cpi_os_barrier(void);

/* Gives the memory behind whole pages back; they read as zero afterwards.
 * False if refused. */
bool cpi_os_purge(void *address, size_t size);

/* Bytes of a committed range that are resident. */
size_t cpi_os_resident(void *address, size_t size);

#endif /* CPI_OS_H */
