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
 * An alloc pops from the loaded magazine and a free pushes to it.  That is the inline path, in
 * <cpool/fast.h>.  This file continues where it fails: an empty or full loaded magazine is swapped
 * with a spare, or, if no spare helps, with the depot.  A cache whose spares are all full gives
 * them to the depot in turn.
 *
 * An owner that is inside has set its mark, BUSY, the top bit of `count`, and then read `limit`,
 * which is 0 while another thread keeps the entry closed.  doc/CONCURRENCY.md 3.5 has this protocol
 * of the owner and the threads that close and take, 3.4 that of the spares.
 *
 * Invariants
 * The first `stocked` spares are full magazines, or 0 if one was taken.  The others are empty
 * magazines or 0, and always 0 beyond the quota.  Only the owner stores a magazine there, and only
 * while the entry is open.  Any thread may take one by a compare-and-swap with 0.
 *
 * `stocked` is at least the number of full spares, as a thread that takes one does not lower it.
 * It may be too low only while the owner is inside.
 *
 * A magazine is loaded while the entry is open, and afterwards until somebody takes it.  As long as
 * it is loaded, its own count is 0, and the entry's is valid.
 *
 * `busy` is odd whenever any of this does not hold, and whenever the owner holds a magazine that is
 * neither loaded nor a spare.  So a searching thread, and the child of a fork, can rely on a cache
 * at rest.
 *
 * All functions are for the owner of the cache only, unless they say otherwise.  Lock-free.
 *
 * ORDERING TABLE
 *   busy   | entry count store with BUSY | relaxed | reclaim.c's barrier, seen | it is inside
 *          |                        | seq_cst | reclaim.c's close, seen | it is inside (no barrier)
 *   deep   | entry count store with BUSY, out of line | release | registry.c's forked | that it is
 *                                                out of line
 *   room   | entry limit load       | acquire | reclaim.c's close | closed, or not
 *          |                        | seq_cst | reclaim.c's close | closed, or not (no barrier)
 *   left   | entry count store without BUSY | release | reclaim.c's seen, registry.c's forked | the
 *                                                rounds, read and written
 *   show   | loaded store           | release | reclaim.c's scan, take | which magazine is loaded
 *   inside | busy store odd         | release | reclaim.c's inside | what the owner did before, to
 *                                                who sees by it that another operation has left
 *   out    | busy store even | release | reclaim.c's inside, registry.c's forked | what it did
 *   own    | the owner's own words, load | relaxed | - | -
 *   swap   | swaps store            | release | moves  | the swap that it counts
 *   moves  | swaps load             | acquire | swap   | the swap that it counts
 *   stocked | stocked store         | release | cache.c's glance | what [offer] publishes
 *   offer  | spare store, CAS | release | cache.c's steal, see | what is in it; the owner's mark
 *   see    | spare load, CAS failure | relaxed | - | -
 *   active | active pointer load    | relaxed | - | -
 *   fenced | fenced load            | relaxed | - | -
 *
 * A spare that its owner takes back needs no acquire: the owner itself put it there.
 */
#ifndef CPI_CACHE_H
#define CPI_CACHE_H

#include <cpool.h>

#include "base/atomic.h"
#include "depot/depot.h"
#include "depot/slab.h"

/* Magazines that a cache can hold in addition to its spares: the loaded one, and two while the
 * depot merges them (depot.c). */
#define CPI_CACHE_HANDS 3u

/* The minimum number of slow allocs through one cache between two counts of the live slots, without
 * a mark of pressure. */
#define CPI_COUNT_EVERY 32u

/* The smallest quota. */
#define CPI_QUOTA_MIN 1u

/* Operations with a closed entry after which its owner opens it again. */
#ifndef CPI_CALM /* the explorer defines a small number */
#define CPI_CALM 64u
#endif

#define CPI_BUSY CPOOL_BUSY_

struct cpi_cache;
struct cpi_registry;
struct cpi_thread;

/* What serves most operations that the inline path cannot. */
enum cpi_near {
    CPI_NEAR_NONE,
    CPI_NEAR_SWAPS,  /* a swap of magazines: the entry may be open to the inline path */
    CPI_NEAR_TRACKED /* a pop or a push, and a change of the slot's word */
};

struct cpi_cache {
    _Alignas(CPI_LINE) cpool_cache_t own; /* the entry, unless it is in a thread's table */
    cpool_cache_t hidden;                 /* the active entry if the inline path may not be used */

    /* Constant while the cache is registered. */
    cpool_cache_t *entry; /* the handle: in the owner's table, or `own` */
    _Atomic(cpool_cache_t *) active; /* the entry in use: `entry` or `hidden`.  Its memory outlives
                                        all other threads' use of the pool */
    enum cpi_near near;
    struct cpi_slab *slab;
    struct cpi_depot *depot;
    _Atomic bool fenced; /* closing threads pass the kernel's barrier on behalf of the owner.  Other
                            threads may read this while the registry sets it for the next owner.
                            Once false, it never becomes true again */
    uint32_t quota;     /* spares that the cache may have */
    uint32_t quota_max; /* constant: the pool's largest quota */

    /* The owner's. */
    cpool_cache_t **pointer; /* the thread-local variable of a typed pool through which the inline
                                path finds the entry, or NULL */
    cpool_cache_t *none;     /* what *pointer is set to when there is no cache */
    _Atomic uint32_t loaded; /* the magazine whose rounds the active entry counts, or 0.  Other
                                threads may take it, as described above */
    uint32_t calm;      /* operations since the entry was found closed, up to CPI_CALM */
    uint32_t sample_in; /* allocs until a slot is sampled, or 0 if none is (pool/slots.h) */
    _Atomic uint32_t countdown; /* slow allocs until the live slots are counted (pool/alloc.c), 1 or
                                   more.  Others set it to 1 when a mark of pressure is set */
    _Atomic uint32_t stocked; /* see the invariants; read by any thread */
    struct cpi_counters counters;
    _Atomic uint64_t swaps;     /* swaps of the loaded magazine with a spare, counted like the
                                   exchanges */
    _Atomic uint32_t busy;      /* odd while the owner is inside on a slow path; never reset */
    _Atomic uint32_t calls;     /* 1 from before the owner gives a slot back until it has woken a
                                   waiter */

    /* Used by the registry, guarded by the lock. */
    struct cpi_registry *registry; /* constant */
    struct cpi_thread *owner; /* NULL: belongs to the holder of the handle */
    struct cpi_cache *next;   /* in the list of the owner's caches, or of unused ones */
    struct cpi_cache **link;  /* the pointer to this cache in the list of the owner's caches */
    bool used;

    _Atomic uint32_t spare[]; /* `quota_max` spares */
};

/* The active entry.  Other threads may read it while the registry changes it. */
static inline cpool_cache_t *cpi_cache_active(const struct cpi_cache *cache)
{
    return cpi_load(&cache->active, relaxed); /* [active] */
}

static inline bool cpi_cache_is_fenced(const struct cpi_cache *cache)
{
    return cpi_load(&cache->fenced, relaxed); /* [fenced] */
}

/* --- The owner's mark --- */

/* Rounds in the loaded magazine. */
static inline uintptr_t cpi_entry_count(const cpool_cache_t *active)
{
    return cpi_word_load(&active->count, relaxed) & ~CPI_BUSY; /* [own] */
}

static inline uintptr_t cpi_cache_count(const struct cpi_cache *cache)
{
    return cpi_entry_count(cpi_cache_active(cache));
}

/* Sets the number of rounds in the loaded magazine.  The owner stays inside. */
static inline void cpi_cache_set_count(struct cpi_cache *cache, uintptr_t count)
{
    cpi_word_store(&cpi_cache_active(cache)->count, count | CPI_BUSY, release); /* [deep] */
}

/* Sets the mark, like the inline path.  Returns the limit, which is 0 if the entry is closed. */
static inline uintptr_t cpi_cache_mark(const struct cpi_cache *cache, cpool_cache_t *active,
                                       uintptr_t count)
{
    if (CPI_LIKELY(cpi_cache_is_fenced(cache))) {
        cpi_word_store(&active->count, count | CPI_BUSY, relaxed); /* [busy] */
        CPOOL_FENCE_();
        return cpi_word_load(&active->limit, acquire); /* [room] */
    }
    cpi_word_store(&active->count, count | CPI_BUSY, seq_cst); /* [busy] */
    return cpi_word_load(&active->limit, seq_cst);             /* [room] */
}

/* Clears the mark, and stores the new number of rounds. */
static inline void cpi_cache_unmark(cpool_cache_t *active, uintptr_t count)
{
    cpi_word_store(&active->count, count, release); /* [left] */
}

/* The pop and the push of the inline path, for entries that are hidden from it.  They return false,
 * and change nothing, where the inline path would fail. */
CPI_WITHIN static inline bool cpi_cache_pop(const struct cpi_cache *cache, cpool_cache_t *active,
                                            void **slot)
{
    uintptr_t count = cpi_entry_count(active);
    uintptr_t limit = cpi_cache_mark(cache, active, count);
    bool popped = CPI_LIKELY(count - 1 < limit);

    if (popped)
        *slot = active->rounds[--count];
    cpi_cache_unmark(active, count);
    return popped;
}

CPI_WITHIN static inline bool cpi_cache_push(const struct cpi_cache *cache, cpool_cache_t *active,
                                             void *slot)
{
    uintptr_t count = cpi_entry_count(active);
    bool pushed = CPI_LIKELY(count < cpi_cache_mark(cache, active, count));

    if (pushed)
        active->rounds[count++] = slot;
    cpi_cache_unmark(active, count);
    return pushed;
}

/* Brackets all other operations of the owner.  Returns whether the entry is open.  If it is closed,
 * another thread may have taken the loaded magazine. */
static inline bool cpi_cache_enter(struct cpi_cache *cache, cpool_cache_t *active)
{
    uint32_t busy = cpi_load(&cache->busy, relaxed); /* [own] */

    CPI_ASSERT(busy % 2 == 0);
    cpi_store(&cache->busy, busy + 1, release); /* [inside] */
    return CPI_LIKELY(cpi_cache_mark(cache, active, cpi_entry_count(active)) != 0);
}

static inline void cpi_cache_leave(struct cpi_cache *cache, cpool_cache_t *active)
{
    uint32_t busy = cpi_load(&cache->busy, relaxed); /* [own] */

    CPI_ASSERT(busy % 2 != 0);
    cpi_cache_unmark(active, cpi_entry_count(active));
    cpi_store(&cache->busy, busy + 1, release); /* [out] */
}

/* --- For any owner --- */

/* Whole operations for one slot, in any state of the entry. take returns NULL if neither the cache
 * nor the depot has a slot and none is fresh, or if a draining thread has emptied the depot. give
 * returns false if more slots were freed than ever handed out. */
void *cpi_cache_take(struct cpi_cache *cache);
bool cpi_cache_give(struct cpi_cache *cache, void *slot);

/* Refills the loaded magazine if it is empty.  Returns false if the entry stays closed or there is
 * no slot. */
bool cpi_cache_refill(struct cpi_cache *cache);

/* Closes the entry, and gives all magazines to the depot. */
void cpi_cache_flush(struct cpi_cache *cache);

/* For an owner that is inside and found its entry closed: opens it if possible.  If the entry stays
 * closed, the cache is empty afterwards.  Returns whether it is open. */
bool cpi_cache_open(struct cpi_cache *cache);

/* A slot from the depot, or a fresh one, without the cache.  The party with these counters must be
 * inside. */
void *cpi_depot_take_slot(struct cpi_slab *slab, struct cpi_depot *depot,
                          struct cpi_counters *counters);

/* A slot without a cache, as a whole operation.  Any thread. */
void *cpi_take_uncached(struct cpi_slab *slab, struct cpi_depot *depot);

/* --- While no thread uses the cache, or with the lock held --- */

/* Prepares a cache: closed, without a magazine.  It may be opened at once.  The counters are not
 * reset: they belong to the pool, not to the owner. */
void cpi_cache_begin(struct cpi_cache *cache, cpool_cache_t *entry, bool inline_path,
                     uint32_t quota, cpool_t *pool);

/* abandon forgets the loaded magazine, discard all magazines. */
void cpi_cache_abandon(struct cpi_cache *cache);
void cpi_cache_discard(struct cpi_cache *cache);

/* Whether the members that only the owner writes satisfy the invariants.  For the owner, or while
 * it cannot run. */
bool cpi_cache_is_valid(const struct cpi_cache *cache);

/* --- For any thread --- */

/* The number of exchanges with the depot and of swaps.  Any thread, wait-free. */
static inline uint64_t cpi_cache_moves(const struct cpi_cache *cache)
{
    return cpi_depot_exchanged(&cache->counters) + cpi_load(&cache->swaps, acquire); /* [moves] */
}

/* Takes a full spare out of any cache, whether its owner runs or not, unless the caller only
 * `looks` for one.  Returns 0 if there is none.  Any thread.  Wait-free. */
uint32_t cpi_cache_steal(struct cpi_cache *victim, bool looks);

/* The number of free slots in the cache, an estimate while the owner works.  Any thread,
 * wait-free. */
size_t cpi_cache_rounds(const struct cpi_cache *cache);

/* Takes a run of up to n fresh slots within the capacity plus `beyond`.  Provides the memory for
 * the magazines that they can fill, and in a checked pool fills their gaps.  Returns the number of
 * slots, or 0 if none are left or the operating system refuses memory.  Any thread.  Lock-free;
 * makes a system call when memory must be committed. */
size_t cpi_cache_bump(struct cpi_slab *slab, struct cpi_depot *depot, uintptr_t n,
                      uintptr_t beyond, uintptr_t *first);

/* --- Refill and spill ---
 *
 * With a spare, or with the depot.  These four functions are inline, because they serve most
 * operations that leave the inline path.  In all other cases the last two continue in cache.c.
 *
 * Each also performs the alloc or free on the new magazine.  `taken` is 1 for an alloc, 0 for none.
 * The owner is inside, and the entry was open.
 */

/* The loaded magazine, or 0. */
static inline uint32_t cpi_cache_loaded(const struct cpi_cache *cache)
{
    return cpi_load(&cache->loaded, relaxed); /* [own] */
}

static inline struct cpi_magazine *cpi_cache_magazine(const struct cpi_cache *cache, uint32_t node)
{
    return cpi_depot_magazine(cache->depot, node);
}

static inline uint32_t cpi_cache_stocked(const struct cpi_cache *cache)
{
    return cpi_load(&cache->stocked, relaxed); /* [own] */
}

static inline void cpi_cache_set_stocked(struct cpi_cache *cache, uint32_t stocked)
{
    CPI_ASSERT(stocked <= cache->quota_max);
    cpi_store(&cache->stocked, stocked, release); /* [stocked] */
}

/* Loads the first `count` rounds of a magazine that the owner holds.  The previously loaded
 * magazine must be empty, or in its new place. */
static inline void cpi_cache_show(struct cpi_cache *cache, cpool_cache_t *active, uint32_t node,
                                  struct cpi_magazine *magazine, uint32_t count)
{
    CPI_ASSERT(count <= cache->depot->limit);
    active->rounds = magazine->rounds;
    cpi_word_store(&active->count, count | CPI_BUSY, release); /* [deep] */
    cpi_store(&cache->loaded, node, release);                  /* [show] */
}

/* Loads a magazine with all its rounds.  From then on the entry counts them. */
static inline void cpi_cache_load(struct cpi_cache *cache, uint32_t node)
{
    struct cpi_magazine *magazine = cpi_cache_magazine(cache, node);

    cpi_cache_show(cache, cpi_cache_active(cache), node, magazine, cpi_magazine_count(magazine));
    cpi_magazine_set_count(magazine, 0);
}

/* Updates the bound: frees of slots below it take the fast path. */
static inline void cpi_cache_look_at_bound(struct cpi_cache *cache)
{
    cpi_cache_active(cache)->bound = cpi_slab_fresh(cache->slab);
}

static inline void cpi_cache_put(struct cpi_cache *cache, uint32_t i, uint32_t node)
{
    cpi_store(&cache->spare[i], node, release); /* [offer] */
}

/* Replaces the i-th spare by another magazine, or by 0.  Returns the spare, or 0 if there is none
 * or another thread took it. */
static inline uint32_t cpi_cache_swap_spare(struct cpi_cache *cache, uint32_t i, uint32_t other)
{
    _Atomic uint32_t *at = &cache->spare[i];
    uint32_t node = cpi_load(at, relaxed); /* [see] */

    /* [offer] [see] */
    if (CPI_LIKELY(node != 0) && CPI_LIKELY(cpi_cas_strong(at, &node, other, release, relaxed)))
        return node;
    return 0;
}

/* Counts a swap of the loaded magazine with a spare. */
static inline void cpi_cache_count_swap(struct cpi_cache *cache)
{
    uint64_t swaps = cpi_load(&cache->swaps, relaxed); /* [own] */

    cpi_store(&cache->swaps, swaps + 1, release); /* [swap] */
}

/* Loads a full magazine in place of an empty one, without the rounds that are taken.  Returns the
 * address of the taken rounds. */
static inline void **cpi_cache_show_full(struct cpi_cache *cache, cpool_cache_t *active,
                                         uint32_t node, uint32_t taken)
{
    struct cpi_magazine *magazine = cpi_cache_magazine(cache, node);
    uint32_t count;

    CPOOL_KEEP_(magazine);
    count = cpi_magazine_count(magazine);
    CPI_ASSERT(count == cache->depot->limit && cpi_cache_count(cache) == 0);
    cpi_magazine_set_count(magazine, 0);
    cpi_cache_show(cache, active, node, magazine, count - taken);
    return &magazine->rounds[count - taken];
}

/* Loads an empty magazine and puts one round into it.  The full magazine is in its new place. */
static inline void cpi_cache_show_one(struct cpi_cache *cache, cpool_cache_t *active,
                                      uint32_t node, void *slot)
{
    struct cpi_magazine *magazine = cpi_cache_magazine(cache, node);

    CPI_ASSERT(cpi_magazine_count(magazine) == 0);
    magazine->rounds[0] = slot;
    cpi_cache_show(cache, active, node, magazine, 1);
}

/* Stores the rounds of the full loaded magazine in its own count, before it goes to its new
 * place. */
static inline void cpi_cache_count_loaded(const cpool_cache_t *active, uintptr_t count)
{
    char *magazine = (char *)active->rounds - offsetof(struct cpi_magazine, rounds);

    cpi_magazine_set_count((struct cpi_magazine *)(void *)magazine, (uint32_t)count);
}

/* Refills from the newest full spare; `left` full spares remain.  Returns the address of the taken
 * rounds, or NULL if another thread took the spare; `left` spares remain then, too. */
CPI_WITHIN static inline void **cpi_cache_refill_from_spare(struct cpi_cache *cache,
                                                            cpool_cache_t *active,
                                                            uint32_t left, uint32_t taken)
{
    uint32_t node = cpi_cache_swap_spare(cache, left, cpi_cache_loaded(cache));
    void **rounds = NULL;

    if (CPI_LIKELY(node != 0))
        rounds = cpi_cache_show_full(cache, active, node, taken);
    cpi_cache_set_stocked(cache, left);
    if (CPI_LIKELY(node != 0))
        cpi_cache_count_swap(cache);
    return rounds;
}

/* Refills without a spare: with `node`, a full magazine from the depot, or with whatever there is
 * if it is 0.  Returns NULL if there is nothing. */
void **cpi_cache_refill_slow(struct cpi_cache *cache, uint32_t node, uint32_t taken);

/* Refills from a full magazine of the depot, in exchange for the empty one. */
CPI_WITHIN static inline void **cpi_cache_refill_from_depot(struct cpi_cache *cache,
                                                            cpool_cache_t *active, uint32_t taken)
{
    struct cpi_depot *depot = cache->depot;
    uint32_t empty = cpi_cache_loaded(cache);
    uint32_t node = cpi_depot_pop(depot, &depot->stocked, &cache->counters.stocked_out);
    void **rounds;

    if (CPI_UNLIKELY(node == 0))
        return cpi_cache_refill_slow(cache, 0, taken);
    rounds = cpi_cache_show_full(cache, active, node, taken);
    cpi_depot_push(depot, &depot->empty, empty, &cache->counters.others);
    cpi_cache_look_at_bound(cache);
    CPI_ASSERT(cpi_cache_is_valid(cache));
    return rounds;
}

/* Spills into the spare after the `stocked` full ones, if it is an empty magazine.  Returns false
 * if there is none. */
CPI_WITHIN static inline bool cpi_cache_spill_to_spare(struct cpi_cache *cache,
                                                       cpool_cache_t *active, uint32_t stocked,
                                                       void *slot)
{
    uint32_t node;

    cpi_cache_count_loaded(active, cache->depot->limit);
    node = cpi_cache_swap_spare(cache, stocked, cpi_cache_loaded(cache));
    if (CPI_UNLIKELY(node == 0)) {
        cpi_cache_count_loaded(active, 0);
        return false;
    }
    cpi_cache_show_one(cache, active, node, slot);
    cpi_cache_set_stocked(cache, stocked + 1);
    cpi_cache_count_swap(cache);
    return true;
}

/* Makes the full loaded magazine a spare, and loads `node`.  If all spares are full, one of them,
 * each in turn, makes room and is returned for the depot.  Returns 0 if there was room, or if
 * another thread took that spare. */
CPI_WITHIN static inline uint32_t cpi_cache_spill_with(struct cpi_cache *cache, uint32_t stocked,
                                                       uint32_t node, void *slot, bool has_room)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    uint32_t place = stocked;
    uint32_t given;

    cpi_cache_count_loaded(active, cache->depot->limit);
    if (!has_room)
        place = (uint32_t)cpi_load(&cache->counters.stocked_in, relaxed) % cache->quota; /* [own] */
    given = cpi_cache_swap_spare(cache, place, cpi_cache_loaded(cache));
    CPI_ASSERT(given == 0 || !has_room);
    if (given == 0)
        cpi_cache_put(cache, place, cpi_cache_loaded(cache));
    cpi_cache_show_one(cache, active, node, slot);
    if (has_room)
        cpi_cache_set_stocked(cache, stocked + 1);
    CPI_ASSERT(cpi_cache_is_valid(cache));
    return given;
}

/* Spills without an empty spare: with `node`, an empty magazine from the depot, or with another one
 * if it is 0.  Returns false if there is no empty magazine: more slots were freed than ever handed
 * out. */
bool cpi_cache_spill_slow(struct cpi_cache *cache, uint32_t node, void *slot);

/* Whether magazines are dispersed, and the fewest rounds of one that is.  AMD's processors seem to
 * prefetch slots that another one is about to write.  Intel's read them faster in address order.
 * Set before the first pool (reclaim.c). */
extern bool cpi_cache_disperses;
#define CPI_DISPERSE_MIN 32u

/* Reorders the rounds of a full magazine, which are in the order of their addresses.  The loaded
 * magazine, which has one round, is used as a buffer. */
void cpi_cache_disperse(const struct cpi_cache *cache, struct cpi_magazine *magazine);

/* After a spill: disperses a magazine if its first two rounds are neighbours, which is unlikely
 * once it has been dispersed. */
static inline void cpi_cache_part_neighbours(struct cpi_cache *cache, uint32_t node)
{
    struct cpi_magazine *magazine = cpi_cache_magazine(cache, node);
    uintptr_t stride = cache->slab->stride;
    bool in_order =
        cpi_cache_disperses && cache->depot->limit >= CPI_DISPERSE_MIN &&
        (uintptr_t)magazine->rounds[1] - (uintptr_t)magazine->rounds[0] + stride <= 2 * stride;

    if (CPI_UNLIKELY(in_order))
        cpi_cache_disperse(cache, magazine);
}

/* Spills with an empty magazine from the depot, in exchange for a full spare.  Returns false if
 * that is not possible, with *popped the empty magazine or 0, and then the caller uses
 * cpi_cache_spill_slow. */
CPI_WITHIN static inline bool cpi_cache_spill_to_depot(struct cpi_cache *cache, void *slot,
                                                       uint32_t *popped)
{
    struct cpi_depot *depot = cache->depot;
    uint32_t stocked = cpi_cache_stocked(cache);
    uint32_t node = cpi_depot_pop(depot, &depot->empty, &cache->counters.others);

    *popped = node;
    if (CPI_UNLIKELY(node == 0 || stocked != cache->quota))
        return false;
    node = cpi_cache_spill_with(cache, stocked, node, slot, false);
    if (CPI_LIKELY(node != 0)) {
        cpi_cache_part_neighbours(cache, node);
        cpi_depot_push(depot, &depot->stocked, node, &cache->counters.stocked_in);
    }
    cpi_cache_look_at_bound(cache);
    return true;
}

/* Whether a free of this slot leaves the inline path only because the loaded magazine is full. */
CPI_WITHIN static inline bool cpi_cache_is_just_full(const struct cpi_cache *cache,
                                                     const cpool_cache_t *active,
                                                     uintptr_t index)
{
    return index < active->bound && cpi_entry_count(active) >= cache->depot->limit;
}

#endif /* CPI_CACHE_H */
