/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/lease.h - everything obtained in a frame goes back at once.
 *
 * OVERVIEW
 *
 *     cpool_lease_t *frame = cpool_lease_begin(particles);
 *     ...
 *     struct particle *p = cpool_lease_alloc(frame);     any thread, as often as it likes
 *     ...
 *     struct particle *q = cpool_alloc(particles);       this one may outlive the frame
 *     if (is_over(q))
 *         cpool_lease_adopt(frame, q);                   or ends with it after all
 *     ...
 *     cpool_lease_end(frame);                            all slots of the lease are free again
 *
 * A slot that is obtained under a lease is not freed by itself.  The end of the lease
 * gives all of them back.  In a plain pool that takes a time that depends on the threads
 * that took part, and not on how many slots there are.  An alloc under a lease is the same
 * few instructions as cpool_alloc.  It leaves the address of the slot in the thread's
 * magazine, so that an emptied magazine is a list of what was handed out, and the end gives
 * whole magazines back.
 *
 * Leases overlap as they like, as in double buffering, where a frame's slots live until
 * the next frame has been drawn.  Other threads allocate from and free to the pool all the
 * while.  A lease takes the place of cpool_reset in a program that runs.
 *
 * NOTES
 *
 * Slots obtained under a lease are live: in the figures, and for an alloc that finds the
 * pool dry.  Their bytes are as they were last left, as for cpool_alloc.
 *
 * Freeing: a slot stays with its lease until the end, and must not be given to cpool_free.
 * Pools with a state for each slot (CPOOL_CHECKED, CPOOL_TRACKED) refuse it, and report
 * CPOOL_ELEASED.  In other pools it is a double free, which the end of the lease makes.  A slot
 * that may outlive its frame comes from cpool_alloc.  cpool_lease_adopt moves it into a lease
 * as soon as its end is known.
 *
 * Threads: any number of threads alloc and adopt under one lease at once, each with a cache of
 * its own.  A thread takes part from its first alloc under the lease on, and that registers
 * a cache, under a mutex.  It counts as one of the pool's thread_caches until the lease or
 * the thread ends, and so does one cache for each open lease.  A thread that can have none
 * takes part all the same, with a mutex for each alloc.  The slots of a thread stay with
 * the lease when the thread ends.
 *
 * The end comes after all of them: see cpool_lease_end.
 *
 * Pools: every kind of pool has leases.  In a pool without the inline path (CPOOL_CHECKED,
 * CPOOL_EXACT, CPOOL_WAITABLE) each alloc is a call.  The end of a lease calls waiting
 * threads.  In a pool with a state for each slot it takes time for each slot: its guards are
 * verified, its state changes, and it goes through the quarantine, so that it is as after
 * cpool_free in every respect.
 *
 * Fork: in the child open leases stay open, with the slots that all threads had obtained.
 * A thread that was inside the library at that moment leaves up to three magazines behind.
 * Their slots stay live.  A fork beside an end in another thread finds the lease open, or
 * its slots free.  In a pool with a state for each slot the fork may come in the middle of the
 * end.  The slots that the end has not given back yet stay live in the child.
 *
 * Reset and destruction: cpool_reset and cpool_destroy end all leases of the pool.  Their
 * handles are refused afterwards.
 *
 * Memory: the first lease of a pool takes 40 bytes of addresses for each cache that the pool may
 * have from the operating system, and in a pool with a state for each slot a bit for each of
 * them, until the pool is destroyed, also beside caller-provided memory.
 */
#ifndef CPOOL_LEASE_H
#define CPOOL_LEASE_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Leases (cpool_lease.3) ------------------------------------------------
 */

/* A lease's handle. */
typedef struct cpool_lease cpool_lease_t;

/* Leases of one pool that may be open at once. */
#define CPOOL_LEASES_MAX 32u

/*
 * cpool_lease_begin - opens a lease on a pool.
 *
 * Returns the lease, or NULL where CPOOL_LEASES_MAX are open, the pool has no cache left,
 * or the operating system refuses memory.  NULL also after CPOOL_EPOOL was reported.
 * Any thread.  It may block.  The first lease of a pool makes a system call.
 * (Regions: M. Tofte and J.-P. Talpin, "Region-Based Memory Management", Information and
 * Computation 132, 1997.)
 */
CPOOL_API cpool_lease_t *cpool_lease_begin(cpool_t *pool) CPOOL_MUST_USE_;

/*
 * cpool_lease_alloc - takes a slot that goes back with the lease.
 *
 * lease   open, of any thread's.  For the sake of speed the inline path does not look
 *
 * Returns the slot, or NULL when there is none, as cpool_alloc.  NULL also after
 * CPOOL_ELEASE was reported: the lease has ended.  That is recognised until 63 other
 * leases have ended after it.
 *
 * Any thread, progress as cpool_alloc.  In an exact pool it waits for a thread that is
 * just taking free slots from the calling thread's magazine.
 */
CPOOL_API CPOOL_INLINE_ void *cpool_lease_alloc(cpool_lease_t *lease) CPOOL_MUST_USE_
    CPOOL_NONNULL_(1);

/*
 * cpool_lease_adopt - makes a live slot one of the lease's.
 *
 * slot   obtained by any thread with any function of the pool, of no lease, and not freed
 *        since.  NULL is a no-op
 *
 * From then on the slot is as one of cpool_lease_alloc's.  So cpool_alloc_wait,
 * cpool_alloc_bulk and explicit caches serve a lease, too.
 *
 * Returns 0, or a code that was reported, after which the slot is the caller's as before.
 * CPOOL_ELEASE: the lease has ended.  CPOOL_EFOREIGN, CPOOL_EMISALIGNED or CPOOL_EUNUSED for an
 * address, as cpool_free.  In a pool with a state for each slot also CPOOL_EDOUBLEFREE for a
 * slot that is free, and CPOOL_ELEASED for a slot of a lease: of several threads that adopt one
 * slot at once, all but one get it.  In other pools it is a double free, which the end of the
 * lease makes.
 * Any thread, lock-free.  First use may block, and so does a thread that can have no
 * cache.
 */
CPOOL_API int cpool_lease_adopt(cpool_lease_t *lease, void *slot);

/*
 * cpool_lease_end - gives every slot of the lease back.
 *
 * The caller guarantees that no thread allocates or adopts under the lease meanwhile or
 * later, and that none touches its slots afterwards, by joining or otherwise, as for a free.
 *
 * An end that finds another thread at work out of line in an alloc or adopt is refused: it
 * reports CPOOL_ELEASE, and the lease stays open.  An alloc on the inline path leaves no mark.
 * Beside an end it obtains a slot that is free, or ends the program by a signal.
 *
 * On pools with a state for each slot the handles of its slots are stale afterwards.  Each
 * slot's word changes for that, and so it takes time for each slot.  On others it takes a
 * compare-and-swap for each thread that took part, and the copy of part of a magazine.
 *
 * Returns how many slots went back.  0 after CPOOL_ELEASE was reported: the lease is in use, has
 * ended before, or never was.  CPOOL_EGUARD is reported as by cpool_free, and the slot goes back
 * all the same.
 * Any thread.  It may block, and makes system calls.
 */
CPOOL_API size_t cpool_lease_end(cpool_lease_t *lease);

/* The out-of-line half, entered when the thread's magazine is empty or there is none. */
CPOOL_API void *cpool_lease_alloc_slow(cpool_lease_t *lease);

#if CPOOL_IS_INLINE_

/* The entry of the lease's own lies at its handle plus the thread's word, as a pool's
 * does. */
CPOOL_API CPOOL_INLINE_ void *cpool_lease_alloc(cpool_lease_t *lease)
{
    cpool_cache_t *cache;
    void *slot;

    CPOOL_OWN_ENTRY_(cache, lease);
    CPOOL_POP_(cache, slot, return cpool_lease_alloc_slow(lease));
    return slot;
}

#endif /* CPOOL_IS_INLINE_ */

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_LEASE_H */
