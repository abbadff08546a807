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
 * <cpool/fast.h>.  Here is what happens where it ends: a magazine that is empty or full is swapped
 * with a spare, and when no spare helps, with the depot.  With at least one spare, an owner that
 * moves back and forth across the edge of a magazine does not touch the depot.
 *
 * How many spares a cache may have is its quota, fixed when it is registered.  A cache with all
 * of them full gives them to the depot in turn: the longer an owner that only gives, as the
 * consumers of a pipeline do, keeps a magazine, the less its processor and the producers' fight
 * over the lines.
 *
 * OPEN AND CLOSED
 *
 * The top bit of `count` is the owner's mark: BUSY, while the owner is inside.  `limit` is the room
 * of a magazine while the entry is open, and 0 while it is closed.  Each operation sets the mark,
 * then reads the limit.
 *
 *     owner                             a thread that closes (reclaim.h)
 *     count = c | BUSY                  closed += 1, of the pool
 *     --- barrier, almost free ---      limit = 0
 *     limit == 0?  then it is closed    --- barrier, expensive ---
 *     ... use the loaded magazine       BUSY?  then look again
 *     count = c', without BUSY          take what is loaded, by compare-and-swap with 0
 *
 * Each side writes its own word, then reads the other's.  With a full barrier between, at least
 * one sees the other (Dekker's rule).  The expensive barrier is membarrier(2), which makes every
 * running thread of the process pass a full barrier, so the owner's own need not be more than an
 * order kept by the compiler.  The inline path of a system without membarrier is never open, and
 * the owner's mark is sequentially consistent there.
 *
 * An owner that finds its entry closed takes its own loaded magazine out, by compare-and-swap with
 * 0, and one of the two sides wins.  While somebody is closing it keeps nothing: its slots come
 * from the depot and go there.  It opens the entry again once nobody is closing and it has done
 * CPI_CALM operations in this way, because closing an entry costs as much as that many.  An owner
 * that opens while a thread begins to close sees that afterwards, in the word `closed` that both
 * change, and closes again.
 *
 * Invariants
 *   The first `stocked` spares are full magazines, or 0 where one was taken.  The others are empty
 *   magazines or 0, and 0 beyond the quota.  Only the owner puts a magazine there, and only while
 *   the entry is open.  Any thread may take one out, by compare-and-swap with 0.
 *
 *   `stocked` counts every full spare from before the spare lies in its place, or
 *   at the latest when the owner leaves, until after it has been taken out.
 *
 *   A magazine is loaded if the entry is open, and as long after that as nobody has taken it.  Its
 *   own count is 0 then, and the entry's is valid.
 *
 *   `busy` is odd whenever any of this is untrue, and whenever the owner has a magazine in its
 *   hands that is neither loaded nor a spare: a thread that looks for slots, and the child of a
 *   fork, can rely on a cache at rest.
 *
 * All functions are for the owner of the cache alone, but where they say
 * otherwise.  Lock-free.
 *
 * ORDERING TABLE
 *   busy   | entry count store with BUSY | relaxed | reclaim.c's barrier, seen | it is inside
 *          |                        | seq_cst | reclaim.c's close, seen | the same, without barrier
 *   deep   | entry count store with BUSY, out of line | release | registry.c's forked | that it is
 *                                                out of line
 *   room   | entry limit load       | acquire | reclaim.c's close | closed, or not
 *          |                        | seq_cst | reclaim.c's close | the same, without barrier
 *   left   | entry count store without BUSY | release | reclaim.c's seen, registry.c's forked | the
 *                                                rounds, read and written
 *   show   | loaded store           | release | reclaim.c's scan, take | which magazine is loaded
 *   inside | busy store odd         | release | reclaim.c's inside | what the owner did before, to
 *                                                who sees by it that another operation has left
 *   out    | busy store even        | release | reclaim.c's inside, registry.c's forked | what the
 *                                                                    owner did
 *   own    | the owner's own words, load | relaxed | - | -
 *   swap   | swaps store            | release | moves  | the swap that it counts
 *   moves  | swaps load             | acquire | swap   | the swap that it counts
 *   stocked | stocked store         | release | cache.c's glance | (as offer)
 *   offer  | spare store, CAS       | release | cache.c's steal, see | the magazine's count and
 *                                                rounds, and that the owner is inside
 *   see    | spare load, CAS failure | relaxed | - | -
 *   active | active pointer load    | relaxed | - | -
 *   fenced | fenced load            | relaxed | - | -
 *
 * A spare that its owner takes back needs no acquire: the owner itself put it there.
 */
#ifndef CPI_CACHE_H
#define CPI_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cpool.h>

#include "base/atomic.h"
#include "base/tools.h"
#include "depot/depot.h"
#include "depot/slab.h"

/* Magazines that a cache can have in its hands beside its quota of spares: the
 * loaded one, and two that the depot merges (depot.c). */
#define CPI_CACHE_HANDS 3u

/* Allocs out of line through one cache after which it counts the live slots, at least. */
#define CPI_COUNT_EVERY 32u

/* The least quota. */
#define CPI_QUOTA_MIN 1u

/* Operations with a closed entry after which its owner opens it again. */
#ifndef CPI_CALM /* an explorer wants few */
#define CPI_CALM 64u
#endif

#define CPI_BUSY CPOOL_BUSY_

struct cpi_cache;
struct cpi_registry;
struct cpi_thread;

/* What serves most operations that the inline path does not. */
enum cpi_near {
    CPI_NEAR_NONE,
    CPI_NEAR_SWAPS,  /* a swap of magazines: the entry may be open to the inline path */
    CPI_NEAR_TRACKED /* a pop or a push, and a change of the slot's word */
};

struct cpi_cache {
    _Alignas(CPI_LINE) cpool_cache_t own; /* the entry, unless it is in a table */
    cpool_cache_t hidden;                 /* the active entry, if the inline path has none */

    /* Constant while the cache is registered. */
    cpool_cache_t *entry; /* the handle: in the owner's table, or `own` */
    _Atomic(cpool_cache_t *) active; /* the one in use: `entry` or `hidden`.  Both are in memory
                                        that outlives the pool's other threads */
    enum cpi_near near;
    struct cpi_slab *slab;
    struct cpi_depot *depot;
    _Atomic bool fenced; /* who closes the entry passes the kernel's barrier for the owner.  Others
                            may look while the registry says so of the next owner's.  After
                            false it is never true again */
    uint32_t quota;     /* spares it may have */
    uint32_t quota_max; /* constant: the pool's largest quota */

    /* The owner's. */
    cpool_cache_t **pointer; /* a typed pool's variable of the thread, through which the inline
                                path finds the entry, or NULL */
    cpool_cache_t *none;     /* where that points while there is no cache */
    _Atomic uint32_t loaded; /* magazine with the rounds that the active entry counts, or 0.  Others
                                take it out, as the head says */
    uint32_t calm;      /* operations since the entry was found closed, up to CPI_CALM */
    uint32_t countdown; /* allocs out of line until live slots are counted: stats.c */
    _Atomic uint32_t stocked; /* see the invariants, read by any thread */
    struct cpi_counters counters;
    _Atomic uint64_t swaps;     /* loaded magazines that changed places with a spare, counted as
                                   exchanges are */
    _Atomic uint32_t busy;      /* odd while the owner is inside, out of line, counts on */
    _Atomic uint32_t calls;     /* 1 while the owner gives a slot back, until it has called a
                                   waiter */

    /* The registry's, guarded by the lock. */
    struct cpi_registry *registry; /* constant */
    struct cpi_thread *owner; /* NULL: the holder of the handle */
    struct cpi_cache *next;   /* of the same owner, or of the unused ones */
    struct cpi_cache **link;  /* the pointer to it, in a list of the same owner */
    bool used;

    _Atomic uint32_t spare[]; /* `quota_max` of them */
};

/* The active entry.  Other threads may look while the registry changes it. */
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

/* The owner has so many from now on.  It stays inside. */
static inline void cpi_cache_set_count(struct cpi_cache *cache, uintptr_t count)
{
    cpi_word_store(&cpi_cache_active(cache)->count, count | CPI_BUSY, release); /* [deep] */
}

/* Sets the mark, as the inline path does.  Returns the limit, 0 if the entry is closed. */
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

/* Takes the mark away, with so many rounds left. */
static inline void cpi_cache_unmark(cpool_cache_t *active, uintptr_t count)
{
    cpi_word_store(&active->count, count, release); /* [left] */
}

/* The pop and the push of the inline path, hidden from it.  They return false, and have changed
 * nothing, where that ends. */
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

/* Brackets everything else.  Returns whether the entry is open.  If not, the loaded magazine may
 * be another thread's. */
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

/* One slot.  take returns NULL if neither the cache nor the depot has one, nor are there fresh
 * ones, or a draining thread has what the depot had.  give returns false if more slots were freed
 * than ever handed out.  Each is a whole operation, in any state of the entry. */
void *cpi_cache_take(struct cpi_cache *cache);
bool cpi_cache_give(struct cpi_cache *cache, void *slot);

/* Gets rounds into the loaded magazine, which is empty, if the entry can be open. */
bool cpi_cache_refill(struct cpi_cache *cache);

/* Closes the entry, and gives all magazines to the depot. */
void cpi_cache_flush(struct cpi_cache *cache);

/* The owner is inside, and the entry was closed: it is opened, if it may be.  Where it is not, the
 * cache holds nothing afterwards.  Returns whether it is open. */
bool cpi_cache_open(struct cpi_cache *cache);

/* A slot without the cache, for a party with these counters, which is inside.  take may find a
 * fresh one. */
void *cpi_depot_take_slot(struct cpi_slab *slab, struct cpi_depot *depot,
                          struct cpi_counters *counters);

/* A slot without a cache, as an operation of its own.  Any thread. */
void *cpi_take_uncached(struct cpi_slab *slab, struct cpi_depot *depot);

/* --- Where nobody runs that uses it, or with the lock held --- */

/* A cache without a magazine, closed.  It may be opened at once.  The counters go on: they are the
 * pool's, not the owner's. */
void cpi_cache_begin(struct cpi_cache *cache, cpool_cache_t *entry, bool inline_path,
                     uint32_t quota, cpool_t *pool);

/* Forgets the loaded magazine, or all of them. */
void cpi_cache_abandon(struct cpi_cache *cache);
void cpi_cache_discard(struct cpi_cache *cache);

/* Whether what only the owner writes is as the invariants have it.  For the owner, or
 * where it cannot run. */
bool cpi_cache_is_valid(const struct cpi_cache *cache);

/* --- For any thread --- */

/* All exchanges of the cache with the depot, and its swaps.  Any thread, wait-free. */
static inline uint64_t cpi_cache_moves(const struct cpi_cache *cache)
{
    return cpi_depot_exchanged(&cache->counters) + cpi_load(&cache->swaps, acquire); /* [moves] */
}

/* Takes a full spare out of any cache, its owner running or not.  Returns 0 if there is none.  Any
 * thread.  Wait-free. */
uint32_t cpi_cache_steal(struct cpi_cache *victim);

/* Whether there may be one.  Any thread, wait-free. */
bool cpi_cache_has_spare(const struct cpi_cache *victim);

/* Free slots in the cache: an estimate while the owner works.  Any thread, wait-free. */
size_t cpi_cache_rounds(const struct cpi_cache *cache);

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

/* --- The edges of an open magazine: refill and spill ---
 *
 * An alloc that finds the loaded magazine empty takes a full spare, and a free that finds it
 * full takes an empty one.  Without such a spare the two exchange a magazine with the depot.
 * These four are inline, because most operations that leave the inline path are one of them.
 * Behind the last two, cache.c goes on in any other state.
 *
 * Each does the alloc or the free that comes first to the other magazine, too.  `taken` is 1
 * for an alloc, or 0 for none.  The owner is inside, and the entry was open.
 */

/* The loaded magazine, 0 if there is none. */
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

/* Loads so many rounds of a magazine that is in the cache's hands, in place of the one that was
 * loaded, which is empty or has been put elsewhere. */
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

/* Frees of slots below the bound take the fast path. */
static inline void cpi_cache_look_at_bound(struct cpi_cache *cache)
{
    cpi_cache_active(cache)->bound = cpi_slab_fresh(cache->slab);
}

/* The i-th spare. */
static inline uint32_t cpi_cache_see(struct cpi_cache *cache, uint32_t i)
{
    return cpi_load(&cache->spare[i], relaxed); /* [see] */
}

static inline void cpi_cache_put(struct cpi_cache *cache, uint32_t i, uint32_t node)
{
    cpi_store(&cache->spare[i], node, release); /* [offer] */
}

/* Puts another magazine, or 0, in the place of a spare.  Returns false if the spare was taken. */
static inline bool cpi_cache_swap_at(_Atomic uint32_t *at, uint32_t node, uint32_t other)
{
    return cpi_cas_strong(at, &node, other, release, relaxed); /* [offer] [see] */
}

/* The loaded magazine takes the place of the i-th spare, which is returned, or 0 if there is
 * none or it was taken. */
static inline uint32_t cpi_cache_swap_loaded(struct cpi_cache *cache, uint32_t i)
{
    _Atomic uint32_t *at = &cache->spare[i];
    uint32_t node = cpi_load(at, relaxed); /* [see] */

    return CPI_LIKELY(node != 0 && cpi_cache_swap_at(at, node, cpi_cache_loaded(cache))) ? node : 0;
}

/* The loaded magazine has changed places with a spare. */
static inline void cpi_cache_count_swap(struct cpi_cache *cache)
{
    uint64_t swaps = cpi_load(&cache->swaps, relaxed); /* [own] */

    cpi_store(&cache->swaps, swaps + 1, release); /* [swap] */
}

/* Loads this full magazine in place of an empty one, but for the rounds that are
 * taken.  Returns where these are. */
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

/* Loads this empty magazine, with one round.  The full one has its new place. */
static inline void cpi_cache_show_one(struct cpi_cache *cache, cpool_cache_t *active,
                                      uint32_t node, void *slot)
{
    struct cpi_magazine *magazine = cpi_cache_magazine(cache, node);

    CPI_ASSERT(cpi_magazine_count(magazine) == 0);
    magazine->rounds[0] = slot;
    cpi_cache_show(cache, active, node, magazine, 1);
}

/* The full loaded magazine counts its rounds itself, before it is put elsewhere. */
static inline void cpi_cache_count_loaded(const cpool_cache_t *active, uintptr_t count)
{
    char *magazine = (char *)active->rounds - offsetof(struct cpi_magazine, rounds);

    cpi_magazine_set_count((struct cpi_magazine *)(void *)magazine, (uint32_t)count);
}

/* Refills by the newest of the full spares, of which `left` others are left.  Returns where the
 * taken rounds are, or NULL if the spare was taken, and then there is one less, too. */
CPI_WITHIN static inline void **cpi_cache_refill_from_spare(struct cpi_cache *cache,
                                                            cpool_cache_t *active,
                                                            uint32_t left, uint32_t taken)
{
    uint32_t node = cpi_cache_swap_loaded(cache, left);
    void **rounds = NULL;

    if (CPI_LIKELY(node != 0))
        rounds = cpi_cache_show_full(cache, active, node, taken);
    cpi_cache_set_stocked(cache, left);
    if (CPI_LIKELY(node != 0)) {
        cpi_cache_count_swap(cache);
        CPI_PROBE2(refill, cache->entry->pool, cpi_cache_count(cache));
    }
    return rounds;
}

/* A refill without a spare: with this full magazine, which was taken from the
 * depot, or 0.  Returns NULL if there is nothing. */
void **cpi_cache_refill_slow(struct cpi_cache *cache, uint32_t node, uint32_t taken);

/* A refill by a full magazine of the depot, where the empty one goes in exchange. */
CPI_WITHIN static inline void **cpi_cache_refill_from_depot(struct cpi_cache *cache,
                                                            cpool_cache_t *active, uint32_t taken)
{
    struct cpi_depot *depot = cache->depot;
    uint32_t empty = cpi_cache_loaded(cache);
    uint32_t node = cpi_depot_pop(depot, &depot->stocked, &cache->counters,
                                  &cache->counters.stocked_out);
    void **rounds;

    if (CPI_UNLIKELY(node == 0))
        return cpi_cache_refill_slow(cache, 0, taken);
    rounds = cpi_cache_show_full(cache, active, node, taken);
    cpi_depot_push(depot, &depot->empty, empty, &cache->counters, &cache->counters.empty_in);
    cpi_cache_look_at_bound(cache);
    CPI_PROBE2(refill, cache->entry->pool, cpi_cache_count(cache));
    CPI_ASSERT(cpi_cache_is_valid(cache));
    return rounds;
}

/* Spills into the place after the `stocked` full spares, where an empty one is.  Returns false
 * if there is none. */
CPI_WITHIN static inline bool cpi_cache_spill_to_spare(struct cpi_cache *cache,
                                                       cpool_cache_t *active, uint32_t stocked,
                                                       void *slot)
{
    uint32_t node;

    cpi_cache_count_loaded(active, cache->depot->limit);
    node = cpi_cache_swap_loaded(cache, stocked);
    if (CPI_UNLIKELY(node == 0)) {
        cpi_cache_count_loaded(active, 0);
        return false;
    }
    cpi_cache_show_one(cache, active, node, slot);
    cpi_cache_set_stocked(cache, stocked + 1);
    cpi_cache_count_swap(cache);
    CPI_PROBE2(spill, cache->entry->pool, stocked);
    return true;
}

/* The full loaded magazine becomes a spare.  Where all are full, one of them makes room, each in
 * turn, and is returned for the depot.  Returns 0 if that was taken, or there is room. */
CPI_WITHIN static inline uint32_t cpi_cache_spill_with(struct cpi_cache *cache, uint32_t stocked,
                                                       uint32_t node, void *slot, bool has_room)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    uint32_t place = stocked;
    uint32_t given;

    CPI_PROBE2(spill, cache->entry->pool, stocked);
    cpi_cache_count_loaded(active, cache->depot->limit);
    if (!has_room)
        place = (uint32_t)cpi_load(&cache->counters.stocked_in, relaxed) % cache->quota; /* [own] */
    given = cpi_cache_swap_loaded(cache, place);
    CPI_ASSERT(given == 0 || !has_room);
    if (given == 0)
        cpi_cache_put(cache, place, cpi_cache_loaded(cache));
    cpi_cache_show_one(cache, active, node, slot);
    if (has_room)
        cpi_cache_set_stocked(cache, stocked + 1);
    CPI_ASSERT(cpi_cache_is_valid(cache));
    return given;
}

/* A spill without an empty spare: with this empty magazine, which was taken from the depot, or 0.
 * Returns false if there is none: more slots were freed than ever handed out. */
bool cpi_cache_spill_slow(struct cpi_cache *cache, uint32_t node, void *slot);

/* Fewer are left as they are. */
#define CPI_DISPERSE_MIN 32u

/* Puts the rounds of a full magazine out of the order of their addresses, in which a processor may
 * fetch slots that another one is about to write.  The loaded magazine, of one round, has room. */
void cpi_cache_disperse(const struct cpi_cache *cache, struct cpi_magazine *magazine);

/* After a spill: disperses a magazine whose first two rounds are neighbours, which they hardly are
 * once dispersed. */
static inline void cpi_cache_part_neighbours(struct cpi_cache *cache, uint32_t node)
{
    struct cpi_magazine *magazine = cpi_cache_magazine(cache, node);
    uintptr_t stride = cache->slab->stride;
    bool in_order =
        cache->depot->limit >= CPI_DISPERSE_MIN &&
        (uintptr_t)magazine->rounds[1] - (uintptr_t)magazine->rounds[0] + stride <= 2 * stride;

    if (CPI_UNLIKELY(in_order))
        cpi_cache_disperse(cache, magazine);
}

/* A spill with an empty magazine of the depot, where a spare goes in exchange.  Returns false, and
 * the magazine that it popped or 0, if it is not that simple: cpi_cache_spill_slow is next. */
CPI_WITHIN static inline bool cpi_cache_spill_to_depot(struct cpi_cache *cache, void *slot,
                                                       uint32_t *popped)
{
    struct cpi_depot *depot = cache->depot;
    uint32_t stocked = cpi_cache_stocked(cache);
    uint32_t node = cpi_depot_pop(depot, &depot->empty, &cache->counters,
                                  &cache->counters.empty_out);

    *popped = node;
    if (CPI_UNLIKELY(node == 0 || stocked != cache->quota))
        return false;
    node = cpi_cache_spill_with(cache, stocked, node, slot, false);
    if (CPI_LIKELY(node != 0)) {
        cpi_cache_part_neighbours(cache, node);
        cpi_depot_push(depot, &depot->stocked, node, &cache->counters,
                       &cache->counters.stocked_in);
    }
    cpi_cache_look_at_bound(cache);
    return true;
}

/* Whether a free of this slot finds the loaded magazine full, and nothing but that is in its
 * way. */
CPI_WITHIN static inline bool cpi_cache_is_just_full(const struct cpi_cache *cache,
                                                     const cpool_cache_t *active,
                                                     uintptr_t index)
{
    return index < active->bound && cpi_entry_count(active) >= cache->depot->limit;
}

#endif /* CPI_CACHE_H */
