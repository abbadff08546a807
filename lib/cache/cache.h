/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.h - one owner's free slots of one pool.
 *
 *   entry (hot, public layout)          cache (here)
 *   +-------+-------+--------+          +--------+------------------+----------+
 *   | count | limit | rounds |          | loaded | spare: S S E - - | counters |
 *   +-------+-------+--------+          +--------+------------------+----------+
 *                       |                   |       stocked = 2
 *                       v                   v
 *                  [ r r r r . . ]  magazine "loaded"
 *
 * Allocating pops from the loaded magazine and freeing pushes to it.  That is the inline path, in
 * <cpool/fast.h>.  Here is what happens when it is empty or full: it is swapped with a spare, and
 * when no spare helps, with the depot.  With at least one spare, an owner that moves back and
 * forth across the edge of a magazine does not touch the depot.
 *
 * How many spares a cache may have is its quota, fixed when it is registered.  A cache with all
 * of them full gives them to the depot in turn: the longer an owner that only gives, as the
 * consumers of a pipeline do, keeps a magazine, the less its processor and the producers' fight
 * over the lines.  While the pool is dry everything full goes there.
 *
 * Invariants
 *   The first `stocked` spares are full magazines, or 0 where one was recalled.
 *   The others are empty magazines or 0, and 0 beyond the quota.
 *   Only the owner puts a magazine there.  Any thread may take one out, by
 *   compare-and-swap with 0.
 *
 *   `stocked` counts every full spare from before the spare lies in its place, or
 *   at the latest when the owner leaves, until after it has been taken out.
 *
 *   While a magazine is loaded its own count is 0 and the entry's is valid.
 *
 *   The owner is inside (mark.h) whenever any of this is untrue, and whenever it
 *   has a magazine in its hands that is neither loaded nor a spare: a thread that
 *   looks for slots, and the child of a fork, can rely on a cache at rest.
 *
 * All functions are for the owner of the cache alone, but where they say
 * otherwise.  Lock-free.
 *
 * ORDERING TABLE
 *   active | active pointer and loaded, load | relaxed | - | -
 *   own   | entry count load; frees load | relaxed | - | -
 *   show  | entry count store | release | registry.c's forked, steal.c's shown | the round, and
 *                                         what came before: the spare that a loaded magazine became
 *   moves | swaps load  | acquire | cache_edge.h's swap | the swap that it counts
 *   frees | frees store | release | mark.h's seen, steal.c's hint | the round
 *
 * The active entry is that of a thread's table, one of the cache itself, or a typed
 * pool's, which lies in the thread-local storage of a program or module.  The first two
 * are in memory that outlives the pool, and a stealing thread reads the count there.  It
 * does not read the third, because its memory goes when the thread ends or the module is
 * unloaded.  `visible` is NULL then, and a loaded magazine counts as full.  With the lock
 * held all three may be read and cleared, because the end of a thread takes the cache off
 * the list with the lock held, before its memory goes.
 */
#ifndef CPI_CACHE_H
#define CPI_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cpool.h>

#include "base/atomic.h"
#include "store/depot.h"
#include "store/slab.h"

/* Magazines that a cache can have in its hands beside its quota of spares: the
 * loaded one, and two that the depot merges (depot.c). */
#define CPI_CACHE_HANDS 3u

/* Allocs out of line through one cache after which it counts the live slots, at least. */
#define CPI_COUNT_EVERY 32u

/* The least quota. */
#define CPI_QUOTA_MIN 1u

struct cpi_cache;
struct cpi_registry;
struct cpi_thread;

/*
 * Where the inline path of cpool_alloc and cpool_free ends, for a thread with a cache.  They have
 * the results so far: the thread's entry for the pool, its cache, the slot's index, or
 * any number if no slot begins there, and the place where the program called.  One call leads
 * here, and nothing is asked that is the same for all operations of a cache.
 */
struct cpi_brief {
    void *(*alloc)(cpool_t *handle, cpool_cache_t *entry, struct cpi_cache *cache,
                   const void *site);
    void (*free)(cpool_t *handle, void *slot, uintptr_t index, struct cpi_cache *cache,
                 const void *site);
};

struct cpi_cache {
    _Alignas(CPI_LINE) cpool_cache_t own; /* the entry, unless it is in a table */
    cpool_cache_t hidden;                 /* the active entry, if the entry must not be, and
                                             two of the owner's marks in any case: mark.h */

    /* Constant while the cache is registered. */
    cpool_cache_t *entry; /* the handle: in the owner's table, or `own` */
    _Atomic(cpool_cache_t *) visible; /* the active entry, if its memory outlives the
                             pool, or NULL for a typed pool's, which other threads must
                             not read */
    _Atomic(cpool_cache_t *) active; /* the entry in use, or `hidden` if the pool has no
                             inline path */
    struct cpi_brief brief; /* the pool's, but general for one that a typed pool's entry shows */
    struct cpi_slab *slab;
    struct cpi_depot *depot;

    /* The owner's. */
    cpool_cache_t **pointer; /* a typed pool's variable of the thread, through which the inline
                                path finds the entry, or NULL */
    cpool_cache_t *none;     /* where that points while there is no cache */
    _Atomic uint32_t loaded; /* magazine with the rounds that the active entry shows, or
                                0 */
    uint32_t quota;     /* constant while registered: spares it may have */
    uint32_t quota_max; /* constant: the pool's largest quota */
    bool shown;      /* constant while registered: the inline path uses the active entry */
    bool bounded;    /* constant while registered: most operations are a pop or a push, with the
                        mark around it, as the kernel has the barrier */
    uint32_t countdown; /* allocs out of line until live slots are counted: pool_info.c */
    _Atomic uint32_t stocked; /* see the invariants, read by stealing threads */
    struct cpi_counters counters;
    _Atomic uint64_t swaps;     /* loaded magazines that changed places with a spare, counted as
                                   exchanges are */

    /* mark.h's. */
    _Atomic uint32_t busy;      /* odd while the owner is inside, counts on */
    _Atomic uint32_t calls;     /* 1 while the owner gives a slot back in a waitable pool,
                                   until it has called a waiter */

    /* The registry's, guarded by the lock. */
    struct cpi_registry *registry; /* constant */
    struct cpi_thread *owner; /* NULL: the holder of the handle */
    struct cpi_cache *next;   /* of the same owner, or of the unused ones */
    struct cpi_cache **link;  /* the pointer to it, in a list of the same owner */
    bool used;

    _Atomic uint32_t spare[]; /* `quota_max` of them */
};

/* The active entry.  Stealing threads may look while the registry changes it. */
static inline cpool_cache_t *cpi_cache_active(const struct cpi_cache *cache)
{
    return cpi_load(&cache->active, relaxed); /* [active] */
}

/* The loaded magazine, 0 if there is none. */
static inline uint32_t cpi_cache_loaded(const struct cpi_cache *cache)
{
    return cpi_load(&cache->loaded, relaxed); /* [active] */
}

/* Whether what only the owner writes is as the invariants have it.  For the owner, or
 * where it cannot run. */
bool cpi_cache_is_valid(const struct cpi_cache *cache);

/* A cache without a magazine.  The counters go on: they are the pool's, not the
 * owner's. */
void cpi_cache_open(struct cpi_cache *cache, cpool_cache_t *entry, bool inline_path,
                    uint32_t quota, cpool_t *pool);

/* The loaded magazine is empty, or there is none: gets one with rounds in it.
 * False if there is none to be had, or a draining thread has what the depot had. */
bool cpi_cache_refill(struct cpi_cache *cache);

/* Likewise, with slots that have never been handed out, up to `beyond` more of
 * them than the capacity. */
bool cpi_cache_refill_fresh(struct cpi_cache *cache, uintptr_t beyond);

/* The pop and the push of <cpool/fast.h>, with accesses that tests follow. */
#define CPI_COUNT(word) cpi_word_load((word), relaxed)                 /* [own] */
#define CPI_SHOW(word, count) cpi_word_store((word), (count), release) /* [show] */
#define CPI_POP(entry, slot, empty) CPOOL_POP_BY_(CPI_COUNT, CPI_SHOW, entry, slot, empty)
#define CPI_PUSH(entry, slot, valid, ready, full) \
    CPOOL_PUSH_BY_(CPI_COUNT, CPI_SHOW, entry, slot, valid, ready, full)

/* The pop beside a lock, which mark.h has returned. */
#define CPI_POP_BESIDE(entry, lock, slot, empty) \
    CPOOL_POP_BESIDE_BY_(CPI_COUNT, CPI_SHOW, entry, lock, slot, empty)

/* The next round of the loaded magazine, NULL if there is none. */
static inline void *cpi_cache_pop(struct cpi_cache *cache)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    void *slot;

    CPI_POP(active, slot, return NULL);
    CPI_ASSERT(active->count < active->limit);
    return slot;
}

/* A slot was pushed out of line.  An odd number is a mark. */
static inline void cpi_cache_count_free(struct cpi_cache *cache)
{
    uintptr_t frees = cpi_word_load(&cache->hidden.frees, relaxed); /* [own] */

    cpi_word_store(&cache->hidden.frees, frees + 2, release); /* [frees] */
}

/* Puts a round into the loaded magazine.  Returns false if there is no room. */
static inline bool cpi_cache_push(struct cpi_cache *cache, void *slot)
{
    cpool_cache_t *active = cpi_cache_active(cache);

    CPI_ASSERT(slot != NULL);
    CPI_PUSH(active, slot, true, true, return false);
    CPI_ASSERT(cpi_cache_loaded(cache) != 0);
    cpi_cache_count_free(cache);
    return true;
}

/* One slot, refilling or spilling as needed.  alloc returns NULL if there is none to be
 * had.  free returns false if more slots were freed than ever handed out. */
void *cpi_cache_alloc(struct cpi_cache *cache);
bool cpi_cache_free(struct cpi_cache *cache, void *slot);

/* Takes the loaded magazine away.  Returns 0 if none is loaded. */
uint32_t cpi_cache_detach(struct cpi_cache *cache);

/* Gives all magazines to the depot. */
void cpi_cache_flush(struct cpi_cache *cache);

/* Gives all spares to the depot. */
void cpi_cache_flush_spares(struct cpi_cache *cache);

/* The owner, inside: gives the loaded magazine and the spares to the depot, and shows the
 * next one in the thread's entry of a typed pool. */
void cpi_cache_show_typed(struct cpi_cache *cache, cpool_cache_t *entry);

/* Forgets the loaded magazine, or all of them. */
void cpi_cache_abandon(struct cpi_cache *cache);
void cpi_cache_discard(struct cpi_cache *cache);

/* All exchanges of the cache with the depot, and its swaps.  Any thread, wait-free. */
static inline uint64_t cpi_cache_moves(const struct cpi_cache *cache)
{
    return cpi_depot_exchanged(&cache->counters) + cpi_load(&cache->swaps, acquire); /* [moves] */
}

/*
 * Takes a full spare out of any cache, its owner running or not.  Returns 0 if there is none.  Any
 * thread.  Wait-free.
 */
uint32_t cpi_cache_steal(struct cpi_cache *victim);

/* Free slots in the cache.  For the owner, or with the lock held while the cache is
 * registered.  An estimate while the owner works. */
size_t cpi_cache_rounds(const struct cpi_cache *cache);

/* The same for any thread at any time: a cache that is being made has none, and a
 * magazine that a typed pool's entry shows counts as half full. */
size_t cpi_cache_estimate(const struct cpi_cache *cache);

/*
 * Takes a run of up to n slots that have never been handed out, within the capacity and
 * `beyond` slots more, with the memory for the magazines that they can fill, and with
 * their gaps filled in a checked pool.  Returns the number, 0 when there are none left or
 * the operating system refuses memory.
 *
 * Any thread.  Lock-free, makes a system call when memory must be committed.
 */
size_t cpi_cache_bump(struct cpi_slab *slab, struct cpi_depot *depot, uintptr_t n,
                      uintptr_t beyond, uintptr_t *first);

#endif /* CPI_CACHE_H */
