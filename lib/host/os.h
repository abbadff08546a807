/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os.h - all that the library wants from the operating system.
 *
 * os_posix.c and os_windows.c have the functions, each for its systems, os_plain.c has what needs
 * no system, or lacks Linux, and sync.h has locks.
 * Sizes are in bytes.  Those of commit and release, and addresses, are multiples of the page size.
 */
#ifndef CPI_OS_H
#define CPI_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Linux has more than POSIX.  With CPOOL_PLAIN_POSIX the library does without
 * (configure --enable-plain-posix). */
#if defined(__linux__) && !defined(CPOOL_PLAIN_POSIX)
#define CPI_LINUX 1
#else
#define CPI_LINUX 0
#endif

/*
 * What differs on Windows.
 *
 * FAR                 an address far away from all memory is this, and a quarter of one that the
 *                     system has chosen.  Programs lie lower, or beyond the middle, and their heaps
 *                     grow upwards.  Windows has memory at low addresses, and modules at high ones
 * TAKES_HUGE_PAGES    a program's wish for them is not refused as one that cannot be met.  On
 *                     Windows they take a right that users do not have
 * PURGED_IS_READABLE  a thread that reads a page which is being purged does not trap
 */
#if defined(_WIN32)
#define CPI_OS_FAR ((uintptr_t)1 << 45)
#define CPI_OS_TAKES_HUGE_PAGES false
#define CPI_OS_PURGED_IS_READABLE false
#else
#define CPI_OS_FAR ((uintptr_t)0)
#define CPI_OS_TAKES_HUGE_PAGES true
#define CPI_OS_PURGED_IS_READABLE true
#endif

/* Whether the thread's word and its pauses are in slots of the system's, as os_windows.c has them,
 * because GCC has thread-local variables in blocks of malloc's there. */
#if defined(_WIN32) && !defined(__clang__)
#define CPI_OS_KEEPS_WORD 1
#else
#define CPI_OS_KEEPS_WORD 0
#endif

/* A variable of the environment.  NULL without it, and in a program with more
 * rights than the user that started it. */
const char *cpi_os_environment(const char *name);

/* Bytes in a page, a power of two. */
size_t cpi_os_page_size(void);

/* Bytes in a huge page as the system makes them out of small ones by itself, or the
 * size of a small one where it does not. */
size_t cpi_os_huge_page_size(void);

/* Asks for huge pages in a range, which the system may refuse. */
void cpi_os_want_huge_pages(void *address, size_t size);

/* Bytes of address space that the process may have, SIZE_MAX without a limit. */
size_t cpi_os_address_space(void);

/* Address space without memory behind it.  Touching it traps.  NULL if refused.
 * Starts at a multiple of `align`, a power of two no smaller than a page. */
void *cpi_os_reserve(size_t size, size_t align);

/* Makes part of a reservation readable and writable.  It reads as zero until written.  Doing it
 * twice is harmless.  False if refused: nothing has changed then. */
bool cpi_os_commit(void *address, size_t size);

/* Readable and writable zeroed memory, resident as far as it is touched, or NULL.  A system that
 * does not follow the wish returns NULL, or other memory. */
void *cpi_os_map_at(uintptr_t wish, size_t size);

static inline void *cpi_os_map(size_t size)
{
    return cpi_os_map_at(0, size);
}

/* Gives back what reserve or map returned, whole. */
void cpi_os_release(void *address, size_t size);

/* Returns true if cpi_os_barrier works in this process, and makes it ready. */
bool cpi_os_barrier_ready(void);

/* Every thread of the process that runs at the moment passes a full memory barrier
 * before this returns.  Those that do not run have passed one.  Returns false if the system
 * refuses, which it did not when this was made ready. */
bool cpi_os_barrier(void);

/* Lets a thread run that this one waits for, for the `times`-th time in a row: below CPI_GIVE_WAY
 * it gives way, later it sleeps for a tenth of a millisecond, so that a thread of lower priority
 * gets its turn.  No point of cancellation. */
#define CPI_GIVE_WAY 32u
void cpi_os_back_off(unsigned times);

/* The monotonic clock, nanoseconds.  Every system must have it, and none
 * has a reason to refuse it.  0 if one does. */
uint64_t cpi_os_now(void);

/*
 * The time of the monotonic clock at which this much time is over.  CPI_OS_NEVER if that is in
 * decades, or `timeout` is NULL.  0 if it is over already.  Any timespec is the sum of its
 * members.
 */
#define CPI_OS_NEVER UINT64_MAX
struct timespec;
uint64_t cpi_os_deadline(const struct timespec *timeout);

/* Gives the memory behind whole pages back, which read as zero afterwards.  Returns the bytes of
 * those, from the first one on: fewer than `size` if the system refuses. */
size_t cpi_os_purge(void *address, size_t size);

/* Whether the system has cpi_os_populate.  *calls grows by the requests that were made. */
bool cpi_os_can_populate(uint64_t *calls);

/* Makes whole pages of usable memory resident, changing no byte in them, also while
 * other threads use them.  False if the system refuses memory. */
bool cpi_os_populate(void *address, size_t size);

/* Bytes of a committed range of whole pages that are resident, not counting those
 * swapped out.  Pages that the system refuses to tell about count. */
size_t cpi_os_resident(void *address, size_t size, uint64_t *calls);

/* The number by which the operating system and debuggers know the calling thread.
 * Async-signal-safe. */
uintptr_t cpi_trace_thread(void);

/* In the child of a fork: its only thread has another number. */
void cpi_trace_forked(void);

/*
 * Appends the place of a return address to a text: "function+0x12 (module+0x1234)", without the
 * function where its name is not exported, or the bare address where no module has it.  The
 * number after the module is one that addr2line takes for it, and lies in the call.
 */
struct cpi_text;
void cpi_trace_name(struct cpi_text *text, uintptr_t address);

#endif /* CPI_OS_H */
