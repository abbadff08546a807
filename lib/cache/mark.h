/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mark.h - the mark of an owner that is inside its cache, and the lock of a thread that takes
 * from the cache what the owner has loaded.
 *
 * Includes cache.h, thread.h.  steal.c has the functions.
 *
 * Every operation that may hold a magazine that is neither loaded, nor a spare,
 * nor in the depot is marked: a cache's owner makes `busy` odd while it is inside,
 * and an operation without a cache is in flight at the depot (depot.h).  With the kernel's barrier
 * a pop and a push of the loaded magazine have marks of their own, in the entry that they use.
 * A push makes `frees` odd, which counts on.  A pop sets a flag, `home`, for which it neither
 * loads nor adds.  An owner has one of the three marks at a time.  Three questions are
 * answered by the marks.  A thread that finds the pool dry learns which operations
 * to wait for (steal.h).  The child of a fork learns which caches were at rest.  And a
 * stealing thread learns whether it may touch the loaded magazine (steal.h).
 *
 *     owner                            stealing thread
 *     mark: busy, frees or home        locked_by = token
 *     --- barrier, almost free ---     --- barrier, expensive ---
 *     locked_by? then go without       marked? then look again, and give up
 *     ... use the loaded magazine      ... take the loaded magazine
 *     no mark                          locked_by = 0
 *
 * Each side writes its own word, then reads the other's.  With a full barrier between, at least
 * one sees the other (Dekker's rule).  The expensive barrier is membarrier(2), which makes every
 * running thread of the process pass a full barrier, so that the owner's own need not be more than
 * an order kept by the compiler.  Where the kernel has no membarrier, and in builds for
 * ThreadSanitizer, both sides use sequentially consistent operations.
 *
 * ORDERING TABLE
 *   inside | busy store odd   | seq_cst | look | that the owner is inside
 *          | busy, frees store odd, home store | relaxed | steal.c's barrier | the same, where the
 *                                                                    kernel has one
 *   check  | locked_by load   | seq_cst | lock, unlock | the magazine was taken, or not
 *          |                  | acquire | unlock | the same, where the kernel has one
 *   left   | busy, frees store even, home store NULL | release | look, seen, steal.c's hint | what
 *                                                                     the owner did inside
 *          | busy fetch-and-add of 0 | seq_cst | look | the same
 *   own    | busy, frees load | relaxed | - | -
 *   lock   | locked_by CAS to token | seq_cst | check | that a thread is stealing
 *   again  | CAS failure of a lock | seq_cst | unlock | -
 *   look   | busy load        | seq_cst | inside, left | what the owner did inside
 *          | frees, home load | acquire | steal.c's barrier, left | the same
 *   unlock | locked_by store 0 | seq_cst | check, lock, again | what was stolen
 *   seen   | busy, frees, home load | acquire | left, cache.h's frees | all that the operation did
 *                                                                     that has left
 *
 * [inside] and [lock] are the two stores of Dekker's rule, [check] and [look] the two loads.  All
 * four in the single order of seq_cst: if [check] does not see the lock it precedes it, hence
 * [inside] precedes [look], which sees it.  With membarrier the compiler keeps the owner's pair in
 * order.  Either it ran before the barrier reached the owner's processor, and [look] sees
 * [inside], or the load ran after it, and [check] sees [lock].  One operation at most is under way
 * when the barrier comes, with one mark.  Those that follow see the lock and touch nothing.  So it
 * does not matter that the three marks are looked at one after the other.
 */
#ifndef CPI_MARK_H
#define CPI_MARK_H

#include <stdbool.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "cache/cache.h"
#include "host/thread.h"

/* True if membarrier is available.  Set once, before the first pool. */
extern bool cpi_mark_has_barrier;

/* Issues the barrier and counts it, or does nothing without membarrier. */
void cpi_mark_barrier(_Atomic uint64_t *issued);

/* --- The owner --- */

/* Brackets what the owner does with a cache that is never locked: one with the inline path.
 * Returns the mark, for its end. */
static inline uint32_t cpi_mark_enter(struct cpi_cache *cache)
{
    uint32_t busy = cpi_load(&cache->busy, relaxed); /* [own] */

    CPI_ASSERT(busy % 2 == 0);
    cpi_store(&cache->busy, busy + 1, relaxed); /* [inside] */
    return busy + 1;
}

static inline void cpi_mark_end(struct cpi_cache *cache, uint32_t mark)
{
    CPI_ASSERT(mark % 2 != 0);
    cpi_store(&cache->busy, mark + 1, release); /* [left] */
}

static inline void cpi_mark_leave(struct cpi_cache *cache)
{
    cpi_mark_end(cache, cpi_load(&cache->busy, relaxed)); /* [own] */
}

/* The same with any cache.  Returns false while a stealing thread has the cache: do without it
 * then.  Wait-free. */
static inline bool cpi_mark_try_enter(struct cpi_cache *cache)
{
    uint32_t mark = cpi_load(&cache->busy, relaxed) + 1; /* [own] */
    uintptr_t locked_by;

    if (CPI_LIKELY(cpi_mark_has_barrier)) {
        cpi_store(&cache->busy, mark, relaxed); /* [inside] */
        atomic_signal_fence(memory_order_seq_cst);
        locked_by = cpi_word_load(&cache->hidden.locked_by, acquire); /* [check] */
    } else {
        cpi_store(&cache->busy, mark, seq_cst);                       /* [inside] */
        locked_by = cpi_word_load(&cache->hidden.locked_by, seq_cst); /* [check] */
    }
    if (CPI_LIKELY(locked_by == 0))
        return true;
    cpi_mark_end(cache, mark);
    return false;
}

/* The same for a pop of the loaded magazine, with the kernel's barrier.  It returns the lock: 0, or
 * a number above any count while a stealing thread has the cache, which CPI_POP_BESIDE finds empty
 * then. */
static inline void cpi_mark_end_pop(struct cpi_cache *cache)
{
    cpi_word_store(&cache->hidden.home, NULL, release); /* [left] */
}

static inline uintptr_t cpi_mark_begin_pop(struct cpi_cache *cache)
{
    cpi_word_store(&cache->hidden.home, cache, relaxed); /* [inside] */
    atomic_signal_fence(memory_order_seq_cst);
    return cpi_word_load(&cache->hidden.locked_by, acquire); /* [check] */
}

/* The same for a push.  It has the number of frees as an argument, so that the processor does not
 * await its own store.  One that fails counts as a free: a look more for whoever finds nothing. */
static inline uintptr_t cpi_mark_frees(const struct cpi_cache *cache)
{
    return cpi_word_load(&cache->hidden.frees, relaxed); /* [own] */
}

static inline void cpi_mark_end_push(struct cpi_cache *cache, uintptr_t frees)
{
    cpi_word_store(&cache->hidden.frees, frees + 2, release); /* [left] */
}

static inline bool cpi_mark_begin_push(struct cpi_cache *cache, uintptr_t frees)
{
    CPI_ASSERT(frees % 2 == 0);
    cpi_word_store(&cache->hidden.frees, frees + 1, relaxed); /* [inside] */
    atomic_signal_fence(memory_order_seq_cst);
    if (CPI_LIKELY(cpi_word_load(&cache->hidden.locked_by, acquire) == 0)) /* [check] */
        return true;
    cpi_mark_end_push(cache, frees);
    return false;
}

/* Without the kernel's barrier, before a waiter is told: a look that follows in the single order
 * sees that the owner has left. */
static inline void cpi_mark_confirm(struct cpi_cache *cache)
{
    cpi_fetch_add(&cache->busy, 0u, seq_cst); /* [left] */
}

/* Gives all that the owner's cache holds to the depot, in any pool.  Waits for a stealing
 * thread that has the cache. */
void cpi_mark_flush(struct cpi_cache *cache);

/* --- Any thread, wait-free --- */

/* The owner's marks.  The first two are odd while the owner is inside. */
static inline uint32_t cpi_mark_seen(const struct cpi_cache *cache)
{
    return cpi_load(&cache->busy, acquire); /* [seen] */
}

static inline uintptr_t cpi_mark_frees_seen(const struct cpi_cache *cache)
{
    return cpi_word_load(&cache->hidden.frees, acquire); /* [seen] */
}

static inline bool cpi_mark_is_taking(const struct cpi_cache *cache)
{
    return cpi_word_load(&cache->hidden.home, acquire) != NULL; /* [seen] [look] */
}

/* Whether the owner has any of them. */
static inline bool cpi_mark_is_seen(const struct cpi_cache *cache)
{
    return cpi_mark_seen(cache) % 2 != 0 || cpi_mark_frees_seen(cache) % 2 != 0 ||
           cpi_mark_is_taking(cache);
}

/* Rounds that a cache shows, or might show in a typed pool's entry. */
uintptr_t cpi_mark_shown(const struct cpi_cache *cache);

/*
 * Locks a cache for the calling thread.  Returns false if another one has it.  After the
 * locks, and one barrier, is_inside says whether the owner has come in before, and until the
 * cache is unlocked it does not come in.
 */
static inline bool cpi_mark_lock(struct cpi_cache *cache)
{
    uintptr_t none = 0;

    CPI_ASSERT(cpi_thread_token() > CPOOL_ROUNDS_MAX);
    return cpi_word_cas(&cache->hidden.locked_by, &none, cpi_thread_token(), /* [lock] */
                        seq_cst, seq_cst);                                 /* [again] */
}

static inline bool cpi_mark_is_inside(const struct cpi_cache *cache)
{
    return cpi_load(&cache->busy, seq_cst) % 2 != 0 ||                       /* [look] */
           cpi_word_load(&cache->hidden.frees, acquire) % 2 != 0 || /* [look] */
           cpi_mark_is_taking(cache);
}

static inline void cpi_mark_unlock(struct cpi_cache *cache)
{
    cpi_word_store(&cache->hidden.locked_by, 0, seq_cst); /* [unlock] */
}

#endif /* CPI_MARK_H */
