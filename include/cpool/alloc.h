/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/alloc.h - allocating and freeing slots, one or many at a time.
 *
 * Included by <cpool.h>.  Never include it yourself.
 */
#ifndef CPOOL_ALLOC_H
#define CPOOL_ALLOC_H

#ifndef CPOOL_H
#error "include <cpool.h> instead of <cpool/alloc.h>"
#endif

/*
 * ---- Allocating and freeing (cpool_alloc.3) --------------------------------
 *
 * In this group `pool` must be a living pool.  A destroyed one is reported as CPOOL_EPOOL.  NULL is
 * not reported, because a test would cost each alloc and each free two instructions: it traps at
 * the first access (most likely also on 32-bit systems, and under tools that use most addresses
 * themselves).  A SIGSEGV in cpool_alloc or cpool_free usually means that cpool_create failed and
 * its code was ignored.
 */

/*
 * cpool_alloc - takes a slot.
 *
 * Returns the slot, or NULL if there is none.  The slot's bytes are as they were last left (on
 * first use zero, or as they were in caller-provided memory).  NULL means that at one instant of
 * the call the whole capacity was live; or that a thread holding slots (at most three magazines)
 * was preempted inside the library for longer than stall_limit_ms (counted in stats.stalls); or
 * that the operating system refused memory, or now refuses membarrier (which a message on standard
 * error says once).  A checked pool that finds CPOOL_EGUARD on the way reports it and still returns
 * the slot.
 * Any thread.  Wait-free from the thread's magazine, else lock-free, unless the depot is empty and
 * no cache has a spare magazine.  Then it closes the caches of all threads, makes a system call,
 * takes their loaded magazines, and waits up to stall_limit_ms for threads that are just using
 * theirs.  It also makes a system call when slots are used for the first time.  First use may
 * block, and so may an alloc while threads wait for slots, or at the mark of cpool_set_pressure.
 * While cpool_trim or cpool_shrink holds the depot's slots, every kind of alloc that finds the
 * depot empty waits until some are back.  (Magazines: J. Bonwick and J. Adams, "Magazines and
 * Vmem", USENIX 2001.)
 */
CPOOL_API CPOOL_INLINE_ void *cpool_alloc(cpool_t *pool) CPOOL_MUST_USE_ CPOOL_NONNULL_(1);

/*
 * cpool_free - gives a slot back, from any thread.
 *
 * slot   from an alloc on the same pool, not freed since.  NULL is a no-op.
 *
 * Always verified: an address outside the slab (CPOOL_EFOREIGN), inside a slot (CPOOL_EMISALIGNED),
 * or of a slot never handed out (CPOOL_EUNUSED) is reported and refused.  Checked and tracked pools
 * also find CPOOL_EDOUBLEFREE, and checked pools CPOOL_EGUARD.  After CPOOL_EGUARD the slot stays
 * live, and the next free succeeds.  Other pools may hand a slot that was freed twice to two
 * callers.  They detect it late: in a free that finds no empty magazine, or in cpool_destroy and
 * cpool_reset.  Otherwise a free never fails, and it commits no memory.
 * Any thread.  Wait-free into the thread's magazine, else lock-free, with these exceptions.  First
 * use may block.  While threads wait for slots, or have asked for a notice, it takes the waiters'
 * lock, and may make a system call to wake one.  Otherwise it takes no lock.  A thread without a
 * cache may have to wait as in cpool_free_uncached.  A free that finds no empty magazine yields the
 * processor.
 */
CPOOL_API CPOOL_INLINE_ void cpool_free(cpool_t *pool, void *slot) CPOOL_NONNULL_(1);

/*
 * cpool_alloc_uncached, cpool_free_uncached - like cpool_alloc and cpool_free, but directly from
 * and to the depot, without the calling thread's cache.
 *
 * For threads that allocate too rarely to deserve a cache.  Several times slower than the cached
 * pair.  Not for signal handlers.
 * Any thread, lock-free, as long as at most 64 threads (16 in a pool of less than 4096
 * slots, 4 in caller-provided memory) are inside these two at once.  Further callers wait.
 * alloc makes a system call when slots are used for the first time, and waits as
 * cpool_alloc does when it finds nothing.
 */
CPOOL_API void cpool_free_uncached(cpool_t *pool, void *slot);
CPOOL_API void *cpool_alloc_uncached(cpool_t *pool) CPOOL_MUST_USE_
    CPOOL_FREED_BY_(cpool_free_uncached);

/*
 * cpool_calloc - like cpool_alloc, with the slot_size bytes set to zero.
 *
 * Inline: the library does not export it.
 */
CPOOL_LOCAL_ void *cpool_calloc(cpool_t *pool) CPOOL_MUST_USE_ CPOOL_NONNULL_(1);

/*
 * cpool_alloc_bulk - takes up to n slots, or none if it cannot have `least`.
 *
 * slots   receives them, with room for n
 * least   0 or 1: as many as there are.  n: all or none
 *
 * Returns the number obtained: fewer than n only if the pool ran dry or the operating system
 * refused memory.  If it obtains fewer than `least`, it gives them back and returns 0, and until
 * then another thread may find the pool dry.  If slots is NULL and n > 0, CPOOL_ENULL is reported
 * and 0 returned.  Any thread, progress as cpool_alloc and cpool_free.
 */
CPOOL_API size_t cpool_alloc_bulk(cpool_t *pool, void **slots, size_t n,
                                  size_t least) CPOOL_MUST_USE_;

/*
 * cpool_free_bulk - gives n slots back.
 *
 * slots   each entry as for cpool_free, NULL included.  A refused entry is
 *         reported, and the others are still freed.
 *
 * Any thread, progress as cpool_free.
 */
CPOOL_API void cpool_free_bulk(cpool_t *pool, void *const *slots, size_t n);

#endif /* CPOOL_ALLOC_H */
