/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os.h - everything that the library needs from the operating system.
 *
 * os_posix.c and os_windows.c implement it, each for its systems. sync.h has locks.  Sizes are in
 * bytes.  Addresses, and the sizes of commit and purge, are multiples of the page size.
 */
#ifndef CPI_OS_H
#define CPI_OS_H

#include <cpool.h>

/* Linux offers more than POSIX.  With CPOOL_PLAIN_POSIX the library uses only POSIX (configure
 * --enable-plain-posix). */
#if defined(__linux__) && !defined(CPOOL_PLAIN_POSIX)
#define CPI_LINUX 1
#else
#define CPI_LINUX 0
#endif

/*
 * What differs on Windows.
 *
 * FAR                 this plus a quarter of an address that the system has chosen is far from all
 *                     other memory.  Programs lie lower, or in the upper half, and their heaps grow
 *                     upwards.  Windows has memory at low addresses, and modules at high ones
 * TAKES_HUGE_PAGES    a program may ask for huge pages, although it may not get them.  On Windows
 *                     they need a privilege that users do not have
 */
#if defined(_WIN32)
#define CPI_OS_FAR ((uintptr_t)1 << 45)
#define CPI_OS_TAKES_HUGE_PAGES false
#else
#define CPI_OS_FAR ((uintptr_t)0)
#define CPI_OS_TAKES_HUGE_PAGES true
#endif

/* Whether the thread's word and its pauses are in TLS slots of the system (os_windows.c), because
 * GCC keeps thread-local variables in malloc blocks there. */
#if defined(_WIN32) && !defined(__clang__)
#define CPI_OS_KEEPS_WORD 1
#else
#define CPI_OS_KEEPS_WORD 0
#endif

/* The value of an environment variable.  NULL if it is not set, or if the program has more rights
 * than the user that started it. */
const char *cpi_os_environment(const char *name);

/* Reads a file up to `size` bytes.  Returns their number, or SIZE_MAX if it cannot be read. */
size_t cpi_os_read_file(const char *path, char *buffer, size_t size);

/* Bytes in a page, a power of two. */
size_t cpi_os_page_size(void);

/* Limit of the process's address space in bytes, SIZE_MAX without one. */
size_t cpi_os_address_space(void);

/* Reserves address space without memory.  Touching it traps.  Starts at a multiple of `align`, a
 * power of two no smaller than a page.  Returns NULL if refused. */
void *cpi_os_reserve(size_t size, size_t align);

/* Makes part of a reservation readable and writable.  It reads as zero until written.  Committing
 * memory again is harmless.  Returns false if refused: nothing has changed then. */
bool cpi_os_commit(void *address, size_t size);

/* Undoes a commit: touching the range traps, and its memory goes back to the system.  Returns false
 * if refused: nothing has changed then. */
bool cpi_os_close(void *address, size_t size);

/* Maps zeroed memory, readable and writable, near the address `wish`.  Returns NULL if refused.  A
 * system that does not honour the wish returns NULL or other memory. */
void *cpi_os_map_at(uintptr_t wish, size_t size);

static inline void *cpi_os_map(size_t size)
{
    return cpi_os_map_at(0, size);
}

/* Releases the whole of what reserve or map returned. */
void cpi_os_release(void *address, size_t size);

/* Prepares cpi_os_barrier.  Returns true if it works in this process. */
bool cpi_os_barrier_ready(void);

/* Every running thread of the process passes a full memory barrier before this returns; threads
 * that do not run have passed one.  Returns false if the system refuses, although it did not when
 * the barrier was prepared. */
bool cpi_os_barrier(void);

/* Waits a moment for another thread, for the `times`-th time in a row.  Below CPI_GIVE_WAY the
 * thread yields.  Later it sleeps for a tenth of a millisecond, so that a thread of lower priority
 * gets to run.  Not a cancellation point. */
#define CPI_GIVE_WAY 32u
void cpi_os_back_off(unsigned times);

/* The monotonic clock in nanoseconds, or 0 if the system refuses it, which no system has a reason
 * to do. */
uint64_t cpi_os_now(void);

/*
 * The time of the monotonic clock after `timeout`.  Returns CPI_OS_NEVER if that is decades away or
 * `timeout` is NULL, and 0 if the timeout is not positive.  A timespec counts as the sum of its
 * members, whatever they are.
 */
#define CPI_OS_NEVER UINT64_MAX
struct timespec;
uint64_t cpi_os_deadline(const struct timespec *timeout);

/* Gives the memory of whole pages back; they read as zero afterwards.  Returns the number of bytes
 * given back, counted from the first page: fewer than `size` if the system refuses. */
size_t cpi_os_purge(void *address, size_t size);

/*
 * Calls that only Linux has.
 *
 * huge_page_size      bytes in a transparent huge page, or in a small page if the system does not
 *                     make huge pages by itself
 * want_huge_pages     asks for huge pages in a range, which the system may refuse
 * populate            makes whole pages of usable memory resident without changing a byte, even
 *                     while other threads use them.  False if the system refuses memory
 */
#define CPI_OS_POPULATES CPI_LINUX
#if CPI_LINUX
size_t cpi_os_huge_page_size(void);
void cpi_os_want_huge_pages(void *address, size_t size);
bool cpi_os_populate(void *address, size_t size);
#else
#define cpi_os_huge_page_size cpi_os_page_size
#define cpi_os_want_huge_pages(address, size) ((void)(address), (void)(size))
#define cpi_os_populate(address, size) ((void)(address), (void)(size), true)
#endif

/* A number below this one, which is not 0, by chance: from the clock, whatever its grain. */
static inline uint32_t cpi_os_chance(uint32_t below)
{
    return (uint32_t)((cpi_os_now() * UINT64_C(0x9e3779b97f4a7c15) >> 32) % below);
}

/* The number by which the operating system and debuggers know the calling thread.
 * Async-signal-safe. */
uintptr_t cpi_trace_thread(void);

/* For the child of a fork, whose only thread has a new number. */
void cpi_trace_forked(void);

/*
 * Appends the location of a return address to a text: "function+0x12 (module+0x1234)".  Without the
 * function if its name is not exported, and only the address if it is in no module. addr2line takes
 * the number after the module, which lies inside the call instruction.
 */
struct cpi_text;
void cpi_trace_name(struct cpi_text *text, uintptr_t address);

/* Stores return addresses of the calling functions, the innermost first, and returns how many: 0
 * where the C library has no function for that.  The first call in a process may allocate. */
#define CPI_STACK_MAX 24
size_t cpi_trace_stack(uintptr_t *stack, size_t n);

/* Writes the address ranges of all modules, as /proc/self/maps lists them, if there is one. */
void cpi_trace_modules(cpool_write_t write, void *arg);

/*
 * From the first call on, `trapped` is called in each thread that touches memory which it may not,
 * with the address, and the system's call of the library, or NULL on a small stack.  Then the
 * handler from before goes on; without one the access fails as it would have.  NULL undoes that,
 * unless there is a later handler.  With the lock held.
 */
typedef void cpi_trapped_t(uintptr_t address, const void *caller);
void cpi_os_catch_traps(cpi_trapped_t *trapped);

#endif /* CPI_OS_H */
