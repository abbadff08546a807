/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recall.h - the mark of an owner that is inside, and taking rounds back from
 * other threads' caches when the pool is dry.
 *
 * Includes registry.h.
 *
 * Every operation that may hold a magazine that is neither loaded, nor a spare,
 * nor in the depot is marked: a cache's owner makes `busy` odd while it is inside,
 * and a thread without a cache holds an uncached operation's place.  Three questions are
 * answered by the marks.  A thread that finds the pool dry learns which operations
 * to wait for.  The child of a fork learns which caches were at rest.  And a stealing thread
 * learns whether it may touch the loaded magazine.
 *
 * Spares lie in atomic places, so anybody takes a whole one with one
 * compare-and-swap, and its owner, running, asleep or stopped, pays nothing.
 *
 * The loaded magazine belongs to an owner that uses it with plain loads and
 * stores.  In exact pools the owner is inside whenever it uses it, and the stealing thread
 * waits a bounded while for it to leave.  An owner that stays inside is left alone,
 * because what it holds is in the hands of an operation.
 *
 *     owner                            stealing thread
 *     busy + 1, odd                    locked_by = token
 *     --- barrier, almost free ---     --- barrier, expensive ---
 *     locked_by? then go without       busy? then look again, and give up
 *     ... use the loaded magazine      ... take the loaded magazine
 *     busy + 1, even                   locked_by = 0
 *
 * Each side writes its own word, then reads the other's.  With a full barrier
 * between, at least one sees the other (Dekker's rule).  The expensive barrier
 * is membarrier(2), which makes every running thread of the process pass a full
 * barrier, so that the owner's own need not be more than an order kept by the
 * compiler.  Where the kernel has no membarrier, and in builds for
 * ThreadSanitizer, both sides use sequentially consistent operations.
 *
 * ORDERING TABLE
 *   inside | busy store odd   | seq_cst | recall.c's look | that the owner is inside
 *          |                  | relaxed | recall.c's barrier | the same, where the kernel has one
 *   check  | locked_by load   | seq_cst | recall.c's lock unlock | the magazine was taken, or not
 *          |                  | acquire | recall.c's unlock | the same, where the kernel has one
 *   left   | busy store even  | release | recall.c's look inside forked | what the owner did inside
 *   own    | busy load        | relaxed | - | -
 *   user   | user store       | relaxed | - | -
 *
 * [inside] and [lock] are the two stores of Dekker's rule, [check] and [look] the two
 * loads.  All four in the single order of seq_cst: if [check] does not see the lock it
 * precedes it, hence [inside] precedes [look], which sees it.  With membarrier the
 * compiler keeps the owner's pair in order.  Either it ran before the barrier reached
 * the owner's processor, and [look] sees [inside], or the load ran after it, and
 * [check] sees [lock].
 */
#ifndef CPI_RECALL_H
#define CPI_RECALL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "cache/registry.h"
#include "host/thread.h"

/* Chooses the barrier, once per process, before there is a pool. */
void cpi_recall_startup(void);

/* True if membarrier is available.  Set once, before the first pool. */
extern bool cpi_recall_asymmetric;
static inline bool cpi_recall_has_barrier(void)
{
    return cpi_recall_asymmetric;
}
/* Issues the barrier on behalf of this pool, or does nothing without membarrier. */
void cpi_recall_barrier(struct cpi_registry *registry);

/*
 * Brackets what the owner does with its cache out of line.  enter returns false
 * while a stealing thread has the cache: do without it then.  Wait-free.
 */
static inline void cpi_recall_leave(struct cpi_cache *cache)
{
    uint32_t busy = cpi_load(&cache->busy, relaxed); /* [own] */

    CPI_ASSERT(busy % 2 != 0);
    cpi_store(&cache->busy, busy + 1, release); /* [left] */
}

/* The mark alone, in pools with caches that are never locked: those with the inline
 * path. */
static inline void cpi_recall_mark(struct cpi_cache *cache)
{
    uint32_t busy = cpi_load(&cache->busy, relaxed); /* [own] */

    CPI_ASSERT(busy % 2 == 0);
    cpi_store(&cache->busy, busy + 1, relaxed); /* [inside] */
}

static inline bool cpi_recall_enter(struct cpi_cache *cache)
{
    uint32_t busy = cpi_load(&cache->busy, relaxed) + 1; /* [own] */
    uintptr_t locked_by;

    CPI_ASSERT(busy % 2 != 0);
    if (CPI_LIKELY(cpi_recall_has_barrier())) {
        cpi_store(&cache->busy, busy, relaxed); /* [inside] */
        atomic_signal_fence(memory_order_seq_cst);
        locked_by = cpi_load(&cache->locked_by, acquire); /* [check] */
    } else {
        cpi_store(&cache->busy, busy, seq_cst);       /* [inside] */
        locked_by = cpi_load(&cache->locked_by, seq_cst); /* [check] */
    }
    if (CPI_LIKELY(locked_by == 0))
        return true;
    cpi_recall_leave(cache);
    return false;
}

/* Notes the thread that is about to go inside a cache, which another thread may have
 * used before, or NULL. */
static inline void cpi_recall_use(struct cpi_cache *cache)
{
    if (cache != NULL)
        cpi_store(&cache->user, cpi_thread_token(), relaxed); /* [user] */
}

/* Gives all that the owner's cache holds to the depot, in any pool.  In an exact
 * one it waits for a stealing thread that has the cache. */
void cpi_recall_flush(struct cpi_cache *cache);

/* The owners with caches of nothing but free slots: threads, and holders of handles. */
extern const struct cpi_owner cpi_recall_owner;

/*
 * Gives a full spare of some cache to the depot.  Returns false if no cache has any.
 * Any thread, lock-free.
 */
bool cpi_recall_spare(struct cpi_registry *registry, struct cpi_uncached *stealer);

/* Gives the full spares of caches that have made no exchange since this was last
 * called to the depot.  With the library's lock held. */
void cpi_recall_idle(struct cpi_registry *registry, struct cpi_uncached *stealer);

/*
 * Gives the loaded magazines of all caches to the depot, except those with an
 * owner inside.  Returns false if there was no round in them.  Exact pools
 * only.
 * Any thread, lock-free, makes a system call.
 */
bool cpi_recall_loaded(struct cpi_registry *registry, struct cpi_uncached *stealer);

/* Rounds that all caches show as loaded, and those that operations may have in
 * their hands: an estimate, rather too many than too few.  Any thread,
 * wait-free. */
size_t cpi_recall_out_of_reach(const struct cpi_registry *registry);

/*
 * The figures that tell of changes between two looks.  `moves` differs if a slot was
 * freed, or changed its place.  `loaded` tells of the inline path: it differs if caches
 * show other rounds than before, and is 0 where there is no slack, as loaded magazines
 * are then out of reach.  `left` is the rounds that caches showed when they were looked
 * at for it, but for those that the calling thread was inside, or had locked, when a
 * signal interrupted it.
 */
struct cpi_activity {
    uint64_t moves;
    uint64_t loaded;
    size_t left;
};

/* Any thread, wait-free. */
void cpi_recall_activity(const struct cpi_registry *registry, struct cpi_activity *now);

/* How long to wait for others: at first by giving way, then by sleeping. */
struct cpi_backoff {
    uint64_t limit;    /* nanoseconds, from the first sleep on */
    uint64_t deadline; /* 0: it has not slept yet */
    unsigned times;
};

/* Waits a little.  Returns false when the patience has ended.  Not a point of
 * cancellation. */
bool cpi_recall_pause(struct cpi_backoff *backoff);

/*
 * Waits until every operation that is inside has left, or has been followed by another
 * one.  Returns false if patience ends before.  Operations of the calling thread, which
 * it may have interrupted as a signal handler, are not waited for.
 */
bool cpi_recall_await(const struct cpi_registry *registry, struct cpi_backoff *backoff);

/* Waits until no operation is inside, and none that has given a slot back has still to
 * call a waiter, for as long as it takes.  Not a point of cancellation. */
void cpi_recall_await_rest(const struct cpi_registry *registry);

/*
 * Locks a cache for the holder of a place.  Returns false if another one has it.  After the
 * locks, and one barrier, is_inside says whether the owner has come in before, and until the
 * cache is unlocked it does not come in.
 */
bool cpi_recall_lock(struct cpi_cache *cache, const struct cpi_uncached *place);
bool cpi_recall_is_inside(const struct cpi_cache *cache);
void cpi_recall_unlock(struct cpi_cache *cache);

/*
 * In the child of a fork: puts a cache to rest, unless the forking thread is inside,
 * which goes on where it was.  The magazines that a vanished thread had loaded while it
 * was inside, or that a vanished stealing thread had in hand, are left behind.  Returns
 * whether the cache was not at rest.
 */
bool cpi_recall_forked(struct cpi_cache *cache);

/* Likewise, frees the places of uncached operations that vanished.  Returns true if there
 * were any. */
bool cpi_recall_uncached_forked(struct cpi_registry *registry);

#endif /* CPI_RECALL_H */
