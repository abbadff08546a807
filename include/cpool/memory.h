/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/memory.h - growing, shrinking, trimming and reserving.
 *
 * Included by <cpool.h>.  Never include it yourself.
 */
#ifndef CPOOL_MEMORY_H
#define CPOOL_MEMORY_H

#ifndef CPOOL_H
#error "include <cpool.h> instead of <cpool/memory.h>"
#endif

/*
 * ---- Growing and giving back (cpool_memory.3) ------------------------------
 */

/*
 * cpool_grow - raises the capacity by up to n slots, within max_capacity, and
 * commits memory for them.
 *
 * A pool also grows by itself, by half but at least by a magazine, when an alloc finds nothing
 * free.  Addresses never move.
 *
 * Returns the number of slots added: fewer than n at the limit, 0 if there is nothing to add or the
 * operating system refuses memory.  Any thread, lock-free, makes system calls.
 */
CPOOL_API size_t cpool_grow(cpool_t *pool, size_t n);

/*
 * cpool_shrink - lowers the capacity by up to n slots: first slots that were never handed out, then
 * the topmost slots if they are free in the depot.  Their memory goes back to the operating system,
 * unless the pool is checked or in caller-provided memory.
 *
 * Free slots in the caches of other threads are not reached; call cpool_flush in each thread
 * before.  A pool with max_capacity above its capacity may grow again.
 *
 * Returns the number of slots removed.  At least one slot stays.  If it is 0,
 * the free slots have kept their bytes.
 * Reports the same mistakes as cpool_trim.
 * Any thread, while others allocate and free.  It may block, and so do allocs that find the depot
 * empty meanwhile.  It makes system calls.
 */
CPOOL_API size_t cpool_shrink(cpool_t *pool, size_t n);

/*
 * cpool_trim - gives pages that hold only free slots back to the operating system, and sorts the
 * depot's free slots by address, so that they are handed out page by page again.
 *
 * Slots on such pages become zero, but stay readable until the pool is destroyed.  On Windows a
 * thread that reads a free slot meanwhile traps.  With CPOOL_KEEP_PAGES no page goes back.
 * It flushes the calling thread's cache, and takes all magazines of all other caches, except the
 * loaded one of a thread that is just using it.  So one call after a peak gives its memory back,
 * and then each working thread fetches a magazine again.  Checked pools, and pools in
 * caller-provided memory, are only sorted.
 *
 * It also examines the free slots.  A slot found twice was freed twice, and is one slot again.  A
 * slot that was freed after a shrink had removed it is left out.  Their number is reported, once,
 * as CPOOL_EDOUBLEFREE.
 *
 * Like cpool_shrink, it takes one bit for each slot from the operating system while it runs, also
 * for pools in caller-provided memory.  If that is refused, it does nothing.
 *
 * Returns the bytes given back, whether they were resident or not: so a second call returns them
 * again.  Any thread, while others allocate and free.  It may block, and so do allocs that find the
 * depot empty meanwhile, until some slots are back.  It makes system calls.
 */
CPOOL_API size_t cpool_trim(cpool_t *pool);

/*
 * cpool_reserve - commits the memory of the next n allocs and makes it resident, so that they need
 * none from the operating system.
 *
 * Makes all slots resident that were handed out before, including live ones, and n that never were.
 * No byte changes.  What lies between slots becomes resident with them, also if they are pages
 * apart.  If the operating system has no call that makes pages resident (Linux has one
 * since 5.14), the memory is committed only.
 * The capacity grows, within max_capacity, if n slots are not free.
 *
 * doc/REAL_TIME.md in the sources lists the steps, locks and system calls of each function after
 * that.
 *
 * This holds only until other threads take those slots, or a trim gives their memory back.  If
 * they might, take n slots with cpool_alloc_bulk into an array, and use them from there.
 *
 * Returns 0, CPOOL_EDRY if n slots are not free, or CPOOL_ENOMEM if the operating system refuses
 * memory.  Any thread, while others allocate and free.  It may block and makes system calls.
 */
CPOOL_API int cpool_reserve(cpool_t *pool, size_t n);

/*
 * cpool_span - the memory of all slots, for devices and mlock.
 *
 * first   receives the address of slot 0, or NULL
 *
 *     config.flags = CPOOL_RESIDENT;
 *     ...
 *     bytes = cpool_span(pool, &first);
 *     mlock(first, bytes);
 *
 * The slots lie one after the other, cpool_index_limit of them, as cpool_index says.  Memory that
 * is not committed cannot be registered (io_uring's fixed buffers, RDMA) or locked: the system
 * answers with EFAULT or ENOMEM.  And a device goes on using the pages that it knows, so the pool
 * must give none back.  CPOOL_RESIDENT sees to both.
 *
 * Returns the number of bytes, or 0 after CPOOL_EPOOL was reported.  Any thread, wait-free.
 */
CPOOL_LOCAL_ size_t cpool_span(const cpool_t *pool, void **first) CPOOL_NONNULL_(2);

#endif /* CPOOL_MEMORY_H */
