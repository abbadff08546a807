/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * whole.h - the whole library under the explorer: what it is compiled with.
 *
 * Included before each of the library's sources and before each model that uses the library
 * through its public interface (whole.txt).  Only the system's part is not the library's own
 * (whole_os.c).
 */
#ifndef WEAK_WHOLE_H
#define WEAK_WHOLE_H

#include <stddef.h>
#include <stdint.h>

/* The explorer copies all data before each execution, so tables are small. */
#define CPI_HANDLES 16u
#define CPI_HANDLES_KEPT 4u
#define CPI_TOOLS 0

/* Repetitions that change nothing but the length of an execution. */
#define CPI_LOOKS 2u
#define CPI_LINGER 1u
#define CPI_CALM 1u

#define CPI_THREAD_TOKEN() whole_token()

/* Coroutines share one thread-local block, so its address is no thread's name. */
uintptr_t whole_token(void);

/* The calling thread's destructor runs.  Last in a thread that ends while others go on. */
void whole_end_thread(void);

/* The library's calls that the compiler does not instrument. */
void *weak_memset(void *to, int byte, size_t size);
void *weak_memcpy(void *to, const void *from, size_t size);

#endif /* WEAK_WHOLE_H */
