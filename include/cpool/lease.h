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
 *     cpool_lease_promote(frame, p);                     this one outlives the frame
 *     ...
 *     cpool_lease_end(frame);                            all others are free again
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
 * Freeing: a slot of a lease must not be given to cpool_free, unless it was promoted
 * before.  Pools with a state for each slot (CPOOL_CHECKED, CPOOL_TRACKED) refuse it, and
 * report CPOOL_ELEASED.  In other pools it is a double free, which the end of the lease makes.
 *
 * Threads: a thread takes part from its first alloc under the lease on, and that registers
 * a cache, under a mutex.  It counts as one of the pool's thread_caches until the lease or
 * the thread ends, and so does one cache for each open lease.  A thread that can have none
 * takes part all the same, with a mutex for each alloc.  The slots of a thread stay with
 * the lease when the thread ends.
 *
 * Pools: every kind of pool has leases.  In a pool without the inline path (CPOOL_CHECKED,
 * CPOOL_EXACT, CPOOL_WAITABLE) each alloc is a call.  The end of a lease calls waiting
 * threads.  In a pool with a state for each slot it takes time for each slot: its guards are
 * verified, its state changes, and it goes through the quarantine, so that it is as after
 * cpool_free in every respect.
 *
 * Fork: in the child open leases stay open, with the slots that all threads had obtained.
 * A thread that was inside the library at that moment leaves up to three magazines behind,
 * which stay live for ever.  A fork beside an end in another thread finds the lease open, or
 * its slots free.  There are two exceptions: pools with a state for each slot, or with a
 * quarantine, which chaos has too, and leases with promoted slots that were not found at once.
 * There a fork may come in the middle of the end, and the slots that it has not given back yet
 * stay live in the child.
 *
 * Reset and destruction: cpool_reset and cpool_destroy end all leases of the pool.  Their
 * handles are refused afterwards.
 *
 * Memory: the first lease of a pool takes a page from the operating system, and in a pool
 * with a state for each slot a bit for each of them, until the pool is destroyed, also beside
 * caller-provided memory.
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
 * Returns the slot, or NULL when none can be had, as cpool_alloc.  NULL also after
 * CPOOL_ELEASE was reported: the lease has ended.  That is recognised until 63 other
 * leases have ended after it.
 *
 * A thread that allocates at the very moment at which another one ends the lease makes a
 * mistake.  It gets NULL and a report, or a slot that is free.
 * Any thread, progress as cpool_alloc.  In an exact pool it waits for a thread that is
 * just taking free slots from the calling thread's magazine.
 */
CPOOL_API CPOOL_INLINE_ void *cpool_lease_alloc(cpool_lease_t *lease) CPOOL_MUST_USE_
    CPOOL_NONNULL_(1);

/*
 * cpool_lease_adopt - makes a live slot one of the lease's.
 *
 * slot   obtained by any function of the pool, of no lease, and not freed since.  NULL is
 *        a no-op
 *
 * So cpool_alloc_wait, cpool_alloc_bulk and tickets serve a lease, too.
 *
 * Returns 0, or a code that was reported: CPOOL_ELEASE, or those of cpool_free for the
 * slot's address.  CPOOL_ELEASED for a slot of a lease in a pool with a state for each slot:
 * of several threads that adopt one slot at once, all but one get it.
 * Any thread, lock-free.  First use may block, and so does a thread that can have no
 * cache.
 */
CPOOL_API int cpool_lease_adopt(cpool_lease_t *lease, void *slot);

/*
 * cpool_lease_promote - takes a slot out of its lease: it is live until it is freed.
 *
 * slot   obtained under this lease, by any thread.  NULL is a no-op
 *
 * Where the calling thread has obtained the slot lately, it is found at once: it is in the
 * magazine in use or in one of the two filled before it.  Otherwise the end of the lease looks
 * for it.  Until then another free slot of the pool is held in its place, out of reach of all
 * callers.  Such an end takes time for each slot of the lease: a search in a hash table with
 * an entry of 32 bytes, and room for another one, for each slot that was not found at once.
 *
 * Returns 0.  Or CPOOL_EDRY if the slot is not found at once and no other one is free, or
 * CPOOL_ENOMEM.  The slot is the lease's then as before.  Or a code that was reported:
 * CPOOL_ELEASE, if the lease is not open, or if a slot of a pool with a state for each slot is
 * of no lease.  Otherwise a slot that is not of this lease is reported by cpool_lease_end.
 * Any thread, progress as cpool_alloc.  It may block where the place is not found, and
 * then makes system calls.
 */
CPOOL_API int cpool_lease_promote(cpool_lease_t *lease, void *slot) CPOOL_MUST_USE_;

/*
 * cpool_lease_each - calls a function with each slot of the lease.
 *
 * visit   called with the slot and arg.  It must not use the lease, and may use the pool
 *
 * For the objects in the slots, which may want to know that the frame is over.  Slots that
 * were promoted are not visited.
 *
 * Returns how many slots were visited.
 * One thread, while no other one uses the lease.  It may block.
 */
CPOOL_API size_t cpool_lease_each(cpool_lease_t *lease, void (*visit)(void *slot, void *arg),
                                  void *arg) CPOOL_NONNULL_(2);

/*
 * cpool_lease_end - gives every slot of the lease back.
 *
 * The caller guarantees that no thread allocates under the lease meanwhile or later, and
 * that none touches its slots afterwards, by joining or otherwise, as for a free.  An alloc
 * that is found under way is waited for and reported as CPOOL_ELEASE.
 *
 * On pools with a state for each slot the handles of its slots are stale afterwards.  Each
 * slot's word changes for that, and so it takes time for each slot.  On others it takes a
 * compare-and-swap for each thread that took part, and the copy of part of a magazine.
 *
 * Returns how many slots went back, without those that were promoted.  0 after CPOOL_ELEASE
 * was reported: it has ended before, or never was.  CPOOL_EGUARD is reported as by cpool_free,
 * and the slot goes back all the same.
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
    uintptr_t left;
    void *slot;

    CPOOL_OWN_ENTRY_(cache, lease);
    left = __atomic_load_n(&cache->count, __ATOMIC_RELAXED) - 1u;
    if (CPOOL_UNLIKELY_((intptr_t)left < 0))
        return cpool_lease_alloc_slow(lease);
    slot = cache->rounds[left];
    __atomic_store_n(&cache->count, left, __ATOMIC_RELAXED);
    return slot;
}

#endif /* CPOOL_IS_INLINE_ */

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_LEASE_H */
