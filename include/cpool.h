/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool.h - a thread-safe, lock-free pool of fixed-size slots with per-thread
 * caches.
 *
 * OVERVIEW
 *
 * A pool is created once, with the size and the number of its slots.  After
 * that, any thread may take slots from it, and any thread may give them back:
 *
 *     cpool_config_t config = CPOOL_CONFIG_INIT;
 *     cpool_t *jobs;
 *
 *     config.name = "jobs";
 *     config.slot_size = sizeof(struct job);
 *     config.capacity = 100000;
 *     if (cpool_create(&jobs, &config) != 0)
 *         ...
 *     struct job *job = cpool_alloc(jobs);    NULL when all are out
 *     ...
 *     cpool_free(jobs, job);
 *     ...
 *     cpool_destroy(jobs);
 *
 * Each thread keeps a magazine of free slots of each pool it uses.  Allocating
 * pops it, freeing pushes it, without a locked instruction, a fence or a call.
 * When it runs empty or full it is exchanged, whole, with a global depot: one
 * compare-and-swap for dozens of slots.
 *
 * Empty means empty: never more than `capacity` slots are live, and all of them can be obtained,
 * by whatever thread, however many are in other threads' caches, and whether those threads
 * run, sleep or are stopped.  An alloc fails only if at one instant of the call no slot was free,
 * but for what a thread holds that stays stopped inside the library for stall_limit: what it has
 * loaded, and two magazines in its hands at most.
 *
 * Only an alloc that finds nothing pays for this.  It closes the other threads' caches, makes one
 * system call (membarrier), takes what they hold, and meanwhile every alloc and free is a
 * call.  A thread's cache is open again some dozens of its operations later.  In any pool a thread
 * can also wait for a slot, or ask for a notice.  A free takes a lock only while somebody does.
 *
 * A pool has one size of slots and calls no constructors.  <cpool/sized.h> has blocks of
 * many sizes, and <cpool/object.h> has constructed objects, each over such pools.  The
 * library is not a garbage collector.  A slot freed while another thread still uses it is
 * a bug here as everywhere.
 *
 * NOTES
 *
 * Slots: the library neither reads nor writes free slots.  A slot keeps its bytes from
 * free to the next alloc.  Objects constructed in it stay constructed, and a stray
 * write to a freed slot cannot damage the pool.  There are two exceptions.  cpool_trim
 * and cpool_shrink give pages back, and the bytes of these are zero afterwards.
 * cpool_reserve makes pages resident, live ones too, and changes no byte of theirs.
 *
 * Fork: the child may go on using every pool.  The cached slots of vanished threads return
 * to the depot.  Their live slots stay live.  A thread that was exchanging a
 * magazine at the very moment of the fork leaves up to three magazines' rounds behind in
 * the child, where they count as live.  In a chain of forks these add up.  The library
 * holds a lock from its first fork handler to its last, so a program's own fork handlers
 * must not use pools.  A thread may fork at any moment but in the middle of a function of the
 * library, as a signal handler would.  A handler of mistakes may fork, too, unless its thread
 * waits for a slot.  Parent and child must not both use a pool in caller-provided memory
 * that they share (MAP_SHARED).
 *
 * Inlining: cpool_alloc, cpool_free, cpool_cache_alloc, cpool_cache_free, cpool_index and
 * cpool_at are inlined where the compiler knows GNU extensions, on x86-64 and aarch64 with ELF.
 * Elsewhere they are calls into the library with the same effect.  So they are with
 * -DCPOOL_NO_INLINE, for breakpoints, for small code, and for programs
 * that must run with a later library and its other inline path.  With GCC 12 a C++20 module
 * whose inline functions use pools needs it, too: in a program that imports them that compiler
 * takes a thread-local variable for an ordinary one, and the program does not link.
 *
 * Tools: AddressSanitizer, MemorySanitizer, ThreadSanitizer and Valgrind treat slots like
 * blocks of malloc, even in programs that were not recompiled for them
 * (<cpool/debug.h>).  Every alloc and free is then a call.
 *
 * Fibers and C++20 coroutines may go on in another thread between two operations, if the
 * hand-over synchronises.  Each operation then uses the cache of the thread that runs it.  A fiber
 * may have a cache of its own as well (cpool_cache_create).  It must not be suspended inside an
 * operation, in a handler of mistakes or a function of cpool_set_ready.
 *
 * Signals: no function that allocates or frees may be called in a signal handler.  A function
 * is async-signal-safe only if its contract says so, as those that only look at a descriptor
 * or an address do.  A handler may interrupt the library anywhere if it returns, or ends the
 * process by exit or _exit.  It may leave by longjmp or call fork only if it has interrupted
 * the program's own code, and not a function of the library.
 *
 * Cancellation: functions that write to a stream may be cancellation points, as the stream
 * is, and so may the application's own error handler.  No other function is one.
 *
 * Descriptors: a cpool_t is a pool's descriptor.  It is refused after the pool has been
 * destroyed, until 1,023 other pools (255 on 32-bit systems) have been destroyed after
 * it, or fewer where more than 15,000 pools (700) exist.  Every function then reports
 * CPOOL_EPOOL and does nothing else.  Functions that are not inline also refuse any
 * pointer that is not the descriptor of a living pool.
 * Object pools, lanes, allocators of many sizes, domains and readers are refused in the same way
 * after their end, until 255 others have ended, or some that have more than a MiB of memory.
 *
 * Copies: a process may hold several copies of the library, for example in a statically
 * linked plug-in.  A pool belongs to the copy that made it.  With another
 * copy's pool every function that is not inline reports CPOOL_EPOOL.  The inline
 * functions do not check: cpool_alloc and cpool_free must not be called with another
 * copy's pool, and most likely trap.  Where the dynamic linker mixes two copies, as with
 * a plug-in linked with -Bsymbolic-functions, cpool_create returns CPOOL_ECOPIES
 * and prints the reason to standard error.
 *
 * Threads: a thread's caches return to the depot however the thread ends.  Destructors
 * of thread-specific data may allocate and free, before and after the library's own has
 * run.  A thread that uses a pool for the very first time in the last round of
 * destructors, or after it, leaves its cache registered.  The slots in it can still be
 * taken back.
 *
 * Progress: each contract uses these terms.
 *
 *   wait-free    completes in a bounded number of the caller's own steps
 *   lock-free    some thread always completes
 *   may block    takes a mutex
 *   first use    a thread's first alloc or free on a pool: it registers a cache,
 *                under a mutex
 *
 * An alloc on a dry pool may yield the processor and sleep some milliseconds, and makes the system
 * call membarrier.  Where the system has no such call, or refuses it, every alloc and free is a
 * call with a full fence.
 */
#ifndef CPOOL_H
#define CPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cpool/attributes.h>
#include <cpool/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pool's descriptor.  <cpool/fast.h> has its members. */
typedef struct cpool_t cpool_t;

/* <time.h> defines it for C11 and for POSIX programs only. */
struct timespec;

/* One owner's cache of one pool (see cpool_cache). */
typedef struct cpool_cache_t cpool_cache_t;

/*
 * ---- Version (cpool_version.3) ---------------------------------------------
 *
 * <cpool/version.h> has the version that the program is compiled with: CPOOL_VERSION, such
 * as "1.2.3", and CPOOL_VERSION_NUMBER, such as 1002003, with its parts
 * CPOOL_VERSION_MAJOR, CPOOL_VERSION_MINOR and CPOOL_VERSION_PATCH.
 */

/*
 * cpool_version - the version of the library that the program runs with, in the form of
 * CPOOL_VERSION_NUMBER.
 *
 * Any thread, wait-free, async-signal-safe.
 */
CPOOL_API unsigned cpool_version(void);

/*
 * ---- Structures (cpool.7) --------------------------------------------------
 *
 * Every structure passed between program and library begins with its size in bytes, as
 * the program's header defines it.  CPOOL_CONFIG_INIT and its like set it, and
 * so does `{ .size = sizeof(cpool_config_t), .capacity = 100 }`.  Structures grow at
 * their end only.  A program may therefore run with a library older or newer than
 * its header:
 *
 *   what the program passes      members that only the library knows are zero, which
 *                                means "default".  Members that only the program knows
 *                                must be zero, else CPOOL_ETAIL is returned
 *   what the library fills in    members that only the library knows are not
 *                                written, and members that only the program
 *                                knows become zero
 *
 * A size below that of `size` itself, or above 4096, is refused with CPOOL_ESTRUCT.
 *
 * The tag of cpool_config_t is `struct cpool_config`, and so on.  Types that share that name
 * with a function, or with the C++ namespace, keep the _t: `struct cpool_stats_t`.
 */

/* Each part has the contracts of one manual page. */
#include <cpool/error.h>  /* codes, and the handler of mistakes */
#include <cpool/create.h> /* configuration, creation and destruction */
#include <cpool/alloc.h>  /* allocating and freeing */
#include <cpool/cache.h>  /* explicit caches, flush and reset */
#include <cpool/memory.h> /* growing, shrinking, trimming and reserving */
#include <cpool/wait.h>   /* waiting for a slot */
#include <cpool/info.h>   /* indices, figures and printing */

#include <cpool/fast.h>  /* the inline path */
#include <cpool/typed.h> /* pools of one type */
#if CPOOL_IS_ANALYZED_
#include <cpool/analyze.h>
#endif

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_H */
