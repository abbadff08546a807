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
 * Each thread keeps a magazine of free slots of each pool that it uses.  An alloc pops from it and
 * a free pushes to it, without a locked instruction, a fence or a call.  When the magazine is empty
 * or full, it is exchanged, as a whole, with a global depot: one compare-and-swap for dozens of
 * slots.
 *
 * Empty means empty: never more than `capacity` slots are live, and any thread can obtain all of
 * them, even if they are in other threads' caches, and whether those threads run, sleep or are
 * preempted.  An alloc fails only if at one instant of the call no slot was free.  The exception is
 * a thread that stays preempted inside the library for longer than stall_limit_ms: at most three
 * magazines of its slots are then out of reach.
 *
 * Only an alloc that finds nothing pays for this.  It closes the other threads' caches, makes one
 * system call (membarrier), and takes the slots in them.  Until a thread's cache is open again,
 * some dozens of its operations later, each of its allocs and frees is a call.  In any pool a
 * thread can also wait for a slot, or ask for a notice.  A free takes a lock only while a thread
 * does so.
 *
 * A pool has one size of slots and calls no constructors.  <cpool/sized.h> has blocks of many
 * sizes, and <cpool/object.h> constructed objects, both over such pools.  The library is not a
 * garbage collector, and use after free is still the program's bug.
 *
 * NOTES: cpool(7) has notes on slots, fork, inlining, tools, fibers, signals, cancellation,
 * descriptors, copies of the library, threads, and the terms of progress (doc/man/cpool.txt).
 */
#ifndef CPOOL_H
#define CPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cpool/attributes.h>
#include <cpool/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pool's descriptor.  <cpool/fast.h> has its members. */
typedef struct cpool_pool cpool_t;

/* <time.h> defines it only for C11 and POSIX programs. */
struct timespec;

/* One owner's cache of one pool (see cpool_cache_create). */
typedef struct cpool_cache cpool_cache_t;

/*
 * ---- Version of the library (cpool_version.3) ------------------------------
 *
 * <cpool/version.h> has the version that the program is compiled with: CPOOL_VERSION, such as
 * "1.2.3", and CPOOL_VERSION_NUMBER, such as 1002003, with its parts CPOOL_VERSION_MAJOR,
 * CPOOL_VERSION_MINOR and CPOOL_VERSION_PATCH.
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
 * Every structure passed between program and library begins with its size in bytes, as the
 * program's header defines it.  CPOOL_CONFIG_INIT and similar initialisers set it, and so does `{
 * .size = sizeof(cpool_config_t), .capacity = 100 }`.  Structures grow only at their end, so a
 * program may run with a library older or newer than its header:
 *
 *   what the program passes      members that only the library knows are zero, which
 *                                means "default".  Members that only the program knows
 *                                must be zero, else CPOOL_ESTRUCT is returned
 *   what the library fills in    members that only the library knows are not
 *                                written, and members that only the program
 *                                knows become zero
 *
 * A size that is smaller than `size` itself, or above 4096, is refused with CPOOL_ESTRUCT.
 *
 * The tag of cpool_config_t is `struct cpool_config`, and so on.  That of cpool_t is
 * `struct cpool_pool`, because the C++ namespace has the other name.
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
