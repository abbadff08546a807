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
 *         cpool_lease_adopt(frame, q);                   now it ends with the frame
 *     ...
 *     cpool_lease_end(frame);                            all slots of the lease are free again
 *
 * A loop of frames opens one lease, and each frame ends with cpool_lease_reset(frame).
 *
 * The slots obtained under a lease are not freed one by one.  The end of the lease
 * gives all of them back.  In a plain pool its cost depends on the number of threads
 * that took part, and not on the number of slots.  An alloc under a lease is the same
 * few instructions as cpool_alloc.  It leaves the address of the slot in the thread's
 * magazine, so that an emptied magazine is a list of the slots handed out, and the end
 * gives whole magazines back.
 *
 * Leases may overlap, as in double buffering, where a frame's slots live until the next
 * frame has been drawn.  Meanwhile other threads may allocate from the pool and free to it.
 * A lease replaces cpool_reset where the pool stays in use.
 *
 * NOTES
 *
 * Slots obtained under a lease are live: they count as such in the figures and against the
 * capacity.  Their bytes are as they were last left, as for cpool_alloc.
 *
 * Freeing: a slot stays with its lease until the end, and must not be given to cpool_free.
 * Pools with a state for each slot (CPOOL_CHECKED, CPOOL_TRACKED) refuse it, and report
 * CPOOL_ELEASED.  In other pools it is a double free, which the end of the lease completes.
 * Take slots that may outlive their frame from cpool_alloc.  cpool_lease_adopt moves them into
 * a lease once their end is known.
 *
 * Threads: any number of threads may alloc and adopt under one lease at once, each with its own
 * cache.  A thread takes part from its first alloc under the lease, which registers
 * a cache, under a mutex.  It counts as one of the pool's thread_caches until the lease or
 * the thread ends, and so does one cache for each open lease.  A thread that can have none
 * still takes part, with a mutex for each alloc.  The slots of a thread stay with
 * the lease when the thread ends.
 *
 * No thread may allocate or adopt beside the end or a reset of the lease (cpool_lease_end).
 *
 * Pools: every kind of pool has leases.  In a pool without the inline path (CPOOL_CHECKED,
 * CPOOL_EXACT, CPOOL_WAITABLE) each alloc is a call.  The end of a lease and its reset wake
 * waiting threads, and hand slots to those that have waited for a millisecond.  In a pool
 * with a state for each slot they free every slot as cpool_free would: they verify the
 * guards, change the state, and send the slot through the quarantine.
 *
 * Fork: in the child open leases stay open, with the slots that all threads had obtained.
 * A thread that was inside the library at that moment leaves up to three magazines behind.
 * Their slots stay live.  After many forks in a chain there may be no empty magazine for the free
 * slots of a thread that took part.  They are the lease's then, and its end counts them.  If
 * another thread is ending a lease during the fork, or resets it, the child finds its slots leased
 * or free.  In a pool with a state for each slot the child may find some of them free.  The others
 * stay live there.
 *
 * The pool's reset and destruction: cpool_reset and cpool_destroy end all leases of the pool.
 * Later use of such a lease is refused.
 *
 * Memory: the first lease of a pool takes from the operating system 40 bytes of addresses for
 * each cache that the pool may have, and a bit for each slot in a pool with a state for each
 * slot.  Both last until the pool is destroyed, and are not part of caller-provided memory.
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

/* A lease, known to the library alone. */
typedef struct cpool_lease cpool_lease_t;

/* Leases of one pool that may be open at once. */
#define CPOOL_LEASES_MAX 32u

/*
 * cpool_lease_begin - opens a lease on a pool.
 *
 * Returns the lease, or NULL if CPOOL_LEASES_MAX are open, the pool has no cache left,
 * or the operating system refuses memory, and after CPOOL_EPOOL was reported.
 * Any thread.  It may block.  The first lease of a pool makes a system call.
 * (Regions: M. Tofte and J.-P. Talpin, "Region-Based Memory Management", Information and
 * Computation 132, 1997.)
 */
CPOOL_API cpool_lease_t *cpool_lease_begin(cpool_t *pool) CPOOL_MUST_USE_;

/*
 * cpool_lease_alloc - takes a slot that goes back with the lease.
 *
 * lease   open, begun by any thread.  For speed the inline path does not test it
 *
 * Returns the slot, or NULL if there is none, as cpool_alloc.  Also returns NULL after
 * CPOOL_ELEASE was reported: the lease has ended.  That is recognised until 63 other
 * leases have ended after it.
 *
 * Any thread, progress as cpool_alloc.  In an exact pool it waits for a thread that is
 * just taking free slots from the calling thread's magazine.
 */
CPOOL_API CPOOL_INLINE_ void *cpool_lease_alloc(cpool_lease_t *lease) CPOOL_MUST_USE_
    CPOOL_NONNULL_(1);

/*
 * cpool_lease_adopt - moves a live slot into the lease.
 *
 * slot   obtained by any thread with any function of the pool, in no lease, and not freed
 *        since.  NULL is a no-op
 *
 * From then on the slot is as if obtained by cpool_lease_alloc.  So cpool_alloc_wait,
 * cpool_alloc_bulk and explicit caches serve a lease, too.
 *
 * Returns 0, or a reported code, after which the slot is still the caller's.
 * CPOOL_ELEASE: the lease has ended.  CPOOL_EFOREIGN, CPOOL_EMISALIGNED or CPOOL_EUNUSED: the
 * address is wrong, as in cpool_free.  A pool with
 * a state for each slot also returns CPOOL_EDOUBLEFREE for a free slot, and CPOOL_ELEASED for a
 * slot that is in a lease already.
 * If several threads adopt one slot at once, all but one get this code.  In other pools the
 * second adoption is a double free, which the end of the lease completes.
 * Any thread, lock-free.  First use may block, and so does a thread that can have no
 * cache.
 */
CPOOL_API int cpool_lease_adopt(cpool_lease_t *lease, void *slot);

/*
 * cpool_lease_end - gives every slot of the lease back.
 *
 * The caller guarantees, by joining threads or otherwise, that no thread allocates or adopts
 * under the lease meanwhile or later, that none ends or resets it at the same time, and that none
 * touches its slots afterwards.
 *
 * The end is refused if it finds another thread out of line in an alloc or adopt: it
 * reports CPOOL_ELEASE, and the lease stays open.  In pools with a state for each slot an alloc
 * that an error handler left by longjmp counts as such until its thread has ended.  The thread
 * itself can end the lease.  Its slot stays live, and is not the lease's.  An alloc on the
 * inline path leaves no mark.
 * Beside an end it returns a slot that is free, or crashes.
 *
 * In pools with a state for each slot the handles of the slots become stale, and the cost is
 * proportional to the number of slots.  In other pools the end takes one compare-and-swap for
 * each thread that took part, and the copy of part of a magazine.
 *
 * Returns the number of slots given back.  Returns 0 after CPOOL_ELEASE was reported: the lease
 * is in use, has ended before, or never existed.  CPOOL_EGUARD is reported as by cpool_free,
 * and the slot still goes back.
 * Any thread.  It may block, and makes system calls.
 */
CPOOL_API size_t cpool_lease_end(cpool_lease_t *lease);

/*
 * cpool_lease_reset - gives every slot of the lease back, and leaves it open.
 *
 * The caller guarantees what cpool_lease_end says, but that threads may allocate later: those that
 * took part go on with their caches.
 *
 * Where the calling thread alone has taken part, and no thread waits for a slot, a pool without a
 * state for each slot takes no lock: a reset costs a few dozen instructions, and one
 * compare-and-swap for each magazine that was emptied.  The slots of the last magazine stay in the
 * thread's cache, as freed ones do.  Otherwise it costs what the end costs.
 *
 * Returns the number of slots given back.  Returns 0 after CPOOL_ELEASE was reported, as
 * cpool_lease_end.
 * Any thread.  Lock-free where it takes no lock, but that it waits for a thread that is just taking
 * free slots from the cache, and in a waitable pool it may block.  Otherwise it may block, and
 * makes system calls.
 * (apr_pool_clear of the Apache Portable Runtime, Arena::Reset of Protocol Buffers.)
 */
CPOOL_API size_t cpool_lease_reset(cpool_lease_t *lease);

/* The out-of-line half, entered when the thread's magazine is empty or there is none. */
CPOOL_API void *cpool_lease_alloc_abi3(cpool_lease_t *lease);

#if CPOOL_IS_INLINE_

/* The thread's entry is at the lease's address plus the thread's word, as for a pool. */
CPOOL_API CPOOL_INLINE_ void *cpool_lease_alloc(cpool_lease_t *lease)
{
    cpool_cache_t *cache;
    void *slot;

    CPOOL_OWN_ENTRY_(cache, lease);
    CPOOL_POP_(cache, slot, return cpool_lease_alloc_abi3(lease));
    return slot;
}

#endif /* CPOOL_IS_INLINE_ */

/*
 * CPOOL_DECLARE_LEASES - defines the functions of a typed pool (CPOOL_DECLARE) for leases, which
 * are inline.
 *
 * At file scope, after the declaration of the pool.  cpool_lease_end and cpool_lease_reset take
 * such a lease:
 *
 *     cpool_lease_t *<name>_lease_begin(void);          as cpool_lease_begin
 *     type *<name>_lease_alloc(cpool_lease_t *lease);   as cpool_lease_alloc
 *     int <name>_lease_adopt(cpool_lease_t *lease, type *slot);   as cpool_lease_adopt
 */
#define CPOOL_DECLARE_LEASES(name, type)                                               \
    /* cpool_lease_t *<name>_lease_begin(void)           opens a lease, or returns NULL \
     * type *<name>_lease_alloc(cpool_lease_t *lease)    takes a slot that goes back with it \
     * int <name>_lease_adopt(cpool_lease_t *lease, type *slot)   moves one: 0 or a code */    \
    CPOOL_TYPED_INLINE_ cpool_lease_t *name##_lease_begin(void)                        \
    {                                                                                  \
        cpool_t *cpool_pool_ = name##_pool();                                          \
                                                                                       \
        return cpool_pool_ != NULL ? cpool_lease_begin(cpool_pool_) : NULL;            \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ type *name##_lease_alloc(cpool_lease_t *cpool_lease_)          \
    {                                                                                  \
        return CPOOL_CAST_(type *, cpool_lease_alloc(cpool_lease_));                   \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ int name##_lease_adopt(cpool_lease_t *cpool_lease_, type *cpool_slot_) \
    {                                                                                  \
        return cpool_lease_adopt(cpool_lease_, cpool_slot_);                           \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_END_

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_LEASE_H */
