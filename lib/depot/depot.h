/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * depot.h - magazines, which are arrays of free slots, and the global pool of those that belong to
 * nobody.
 *
 *   +------+-------+---------+---------+-----+------------------+
 *   | link | count | round 0 | round 1 | ... | round limit - 1  |    a magazine
 *   +------+-------+---------+---------+-----+------------------+
 *
 * Magazines lie outside the slab, in memory that lasts as long as the pool, and are known by their
 * index, 1 and up.  At any time a magazine is in exactly one place: a stack of the depot, the
 * depot's partial magazine, or the hands of one cache or thread.  Only its owner may touch count
 * and rounds.
 *
 *   stocked: tag|i -> M -> M -> M    full magazines
 *   empty:   tag|i -> M -> M         magazines without a round
 *   partial: i                       the one magazine that is neither
 *
 * Invariants
 *   A stocked magazine is full.  So there are at most fresh / limit of them, and
 *   threads that come and go with partly filled caches cannot multiply magazines: a
 *   thread that finds the partial magazine taken when it wants to leave another merges
 *   the two.
 *
 *   There is always an empty magazine, as long as no slot is freed twice.
 *   Memory for the magazines that all slots handed out so far can fill is
 *   committed before the slots are handed out, and for those that a cache can
 *   hold before the cache is registered.  That is why free never fails and
 *   commits no memory.
 *
 * Progress: everything here is lock-free, but for `provide`, which may make a system call, and
 * take_empty, which yields a bounded number of times when it meets no empty magazine.
 *
 * ORDERING TABLE
 *   account | counter store    | release | depot.c's counted | the exchange it counts
 *   own     | own counter load | relaxed | - | -
 *   count   | a magazine's count load, store | relaxed | - | -
 *
 * A magazine's count is atomic only because figures are taken while others work.  The depot's
 * exchange orders it between owners.  While a magazine is loaded in a cache the cache keeps the
 * count, and this one is 0.
 */
#ifndef CPI_DEPOT_H
#define CPI_DEPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/tools.h"
#include "depot/extent.h"
#include "depot/tagstack.h"

struct cpi_magazine {
    _Atomic uint32_t link;  /* tagstack.h's */
    _Atomic uint32_t count; /* rounds[0] .. rounds[count - 1] are free slots */
    void *rounds[];
};

static inline uint32_t cpi_magazine_count(const struct cpi_magazine *magazine)
{
    return cpi_load(&magazine->count, relaxed); /* [count] */
}

static inline void cpi_magazine_set_count(struct cpi_magazine *magazine, uint32_t count)
{
    cpi_store(&magazine->count, count, relaxed); /* [count] */
}

/*
 * Moves rounds from one magazine to another until the first is empty or the
 * second has `limit`.  Both are the caller's.
 */
static inline void cpi_magazine_move(struct cpi_magazine *from, struct cpi_magazine *to,
                                     uint32_t limit)
{
    uint32_t have = cpi_magazine_count(from);
    uint32_t held = cpi_magazine_count(to);
    uint32_t moved = have < limit - held ? have : limit - held;
    uint32_t i;

    CPI_ASSERT(from != to);
    CPI_ASSERT(held <= limit);
    for (i = 0; i < moved; i++)
        to->rounds[held + i] = from->rounds[have - moved + i];
    cpi_magazine_set_count(from, have - moved);
    cpi_magazine_set_count(to, held + moved);
}

/* Operations without a cache that may be in flight in one pool at once.  A further one waits until
 * one of them has left.  In memory of our own, of a small pool, and of the caller's, where there
 * are no more than caches, and always two, as a drain is one of them. */
#define CPI_UNCACHED_OWN 64u
#define CPI_UNCACHED_SMALL 16u
#define CPI_UNCACHED_CALLER 4u
#define CPI_UNCACHED_MIN 2u

/*
 * The exchanges of one party with the depot: a cache for as long as the pool lives, or one
 * operation without a cache.  Written by that party alone, read by all.
 */
struct cpi_counters {
    _Atomic uint64_t stocked_in;  /* full magazines pushed */
    _Atomic uint64_t stocked_out; /* and popped */
    _Atomic uint64_t empty_in;    /* empty ones pushed */
    _Atomic uint64_t empty_out;   /* and popped */
    _Atomic uint64_t partials;    /* partial magazines left or taken */
    _Atomic uint64_t retries;     /* compare-and-swaps that had to be repeated */
};

struct cpi_depot {
    struct cpi_links links;      /* constant: the magazines' addresses */
    uint32_t limit;              /* constant: rounds in a full magazine */
    uint32_t for_slots_max;      /* constant: magazines in the first extent */
    uint32_t uncached;           /* constant: CPI_UNCACHED_… */

    /* Seldom written. */
    _Atomic uint32_t drains; /* begun and ended by memory.c, odd while a
                                     draining thread has the magazines */

    /* Written by all: each on a cache line of its own.  The other line of the pair has what is
     * used when slots are handed out for the first time. */
    _Alignas(CPI_LINE) struct cpi_tagstack stocked;
    char pad_stocked[CPI_LINE - sizeof(struct cpi_tagstack)];
    _Alignas(CPI_LINE) struct cpi_extent for_slots; /* magazines for what has been handed out */
    _Atomic uint32_t made_for_slots;                /* magazines ever used of it */

    _Alignas(CPI_LINE) struct cpi_tagstack empty;
    char pad_empty[CPI_LINE - sizeof(struct cpi_tagstack)];
    _Alignas(CPI_LINE) struct cpi_extent for_caches; /* magazines for what caches hold */
    _Atomic uint32_t made_for_caches;                /* magazines ever used of it */

    _Alignas(CPI_LINE) _Atomic uint32_t partial; /* 0: none */
    char pad_partial[CPI_LINE_PAIR - sizeof(uint32_t)];

    _Alignas(CPI_LINE) _Atomic uint64_t flights; /* operations without a cache: depot.c */
    struct cpi_counters flown;                   /* the exchanges of those that have left.  Any
                                                    thread adds to them */
};

/* Bytes from one magazine of `limit` rounds to the next. */
size_t cpi_depot_stride(size_t limit);

/* How many magazines a pool of `capacity` slots needs beside its caches'. */
size_t cpi_depot_magazines(size_t capacity, size_t limit, size_t uncached);

/*
 * for_slots and for_caches adjoin.  Their sizes are multiples of the stride, or
 * the first one is followed by unused bytes that make it so.
 */
void cpi_depot_init(struct cpi_depot *depot, const struct cpi_extent *for_slots,
                    const struct cpi_extent *for_caches, uint32_t limit, uint32_t uncached);

/* Commits the memory that `handed_out` slots can need.  False if refused.
 * Before those slots are handed out. */
bool cpi_depot_provide(struct cpi_depot *depot, uintptr_t handed_out);

/* Commits the memory for `magazines` in the hands of caches.  False if refused. */
bool cpi_depot_provide_caches(struct cpi_depot *depot, uint32_t magazines);

/*
 * Takes a magazine: a full one, an empty one, the one in between.  Returns 0 if
 * there is none.  For an empty one that means that the invariant is broken:
 * more slots were freed than ever handed out.
 *
 * The party that takes or gives is inside (cache.h) from before it takes a
 * magazine until the magazine has its new place.
 */
uint32_t cpi_depot_take_stocked(struct cpi_depot *depot, struct cpi_counters *counters);
uint32_t cpi_depot_take_empty(struct cpi_depot *depot, struct cpi_counters *counters);
uint32_t cpi_depot_take_partial(struct cpi_depot *depot, struct cpi_counters *counters);

/* Gives a magazine, however full.  It is the caller's until then. */
void cpi_depot_give(struct cpi_depot *depot, struct cpi_counters *counters, uint32_t node);

/*
 * Brackets an operation without a cache, which is in flight meanwhile.  try_enter returns false if
 * there are too many, and enter waits.  Where the operation calls a function of the program's that
 * forks, it is not in flight in the child.  Any thread.
 */
struct cpi_uncached {
    struct cpi_counters counters; /* for its exchanges */
    uint16_t epoch;
};

bool cpi_depot_try_enter(struct cpi_depot *depot, struct cpi_uncached *uncached);
void cpi_depot_enter(struct cpi_depot *depot, struct cpi_uncached *uncached);
void cpi_depot_leave(struct cpi_depot *depot, const struct cpi_uncached *uncached);

/* Those in flight at a moment, for the functions that follow.  Any thread, wait-free. */
uint64_t cpi_depot_flights(const struct cpi_depot *depot);

/* How many that were, and how many have exchanged anything and left before, modulo 2^32. */
static inline uint32_t cpi_depot_in_flight(uint64_t flights)
{
    return (uint32_t)(flights & 0xff) + (uint32_t)(flights >> 8 & 0xff);
}

static inline uint32_t cpi_depot_moves(uint64_t flights)
{
    return (uint32_t)(flights >> 32);
}

/* Whether all of them have left.  If that is asked again and again the answer is yes in the end,
 * however many have come since.  Any thread, lock-free. */
bool cpi_depot_have_left(struct cpi_depot *depot, uint64_t flights);

/* In the child of a fork: none is in flight any more.  Returns whether any was. */
bool cpi_depot_forked(struct cpi_depot *depot);

/* One slot, without a cache.  alloc returns NULL if there is none, free returns
 * false where there is no empty magazine. */
void *cpi_depot_alloc_slot(struct cpi_depot *depot, struct cpi_counters *counters);
bool cpi_depot_free_slot(struct cpi_depot *depot, struct cpi_counters *counters, void *slot);

/* Forgets all magazines.  Nobody else may be using the depot. */
void cpi_depot_reset(struct cpi_depot *depot);

/*
 * A draining thread takes all magazines for a while, and gives them back.  It says so
 * before it takes the first and after it has given the last.  There is one at a time.
 */
void cpi_depot_begin_drain(struct cpi_depot *depot);
void cpi_depot_end_drain(struct cpi_depot *depot);

/* Drains begun and ended so far. */
uint32_t cpi_depot_drains(const struct cpi_depot *depot);

/* Returns true if a draining thread has, or had since `seen` was read, the magazines.
 * Then a thread that found none has to look again. */
static inline bool cpi_depot_was_drained(const struct cpi_depot *depot, uint32_t seen)
{
    return seen % 2 != 0 || cpi_depot_drains(depot) != seen;
}

/* Whether a full magazine lies there at the moment. */
static inline bool cpi_depot_has_stocked(const struct cpi_depot *depot)
{
    return cpi_tagstack_top(&depot->stocked) != 0;
}

/* Magazines made so far, an estimate while others work. */
uint32_t cpi_depot_made(const struct cpi_depot *depot);

/* Rounds in the partial magazine, likewise. */
uint32_t cpi_depot_partial_rounds(const struct cpi_depot *depot);

/* Full magazines, counted one by one.  Nobody else may be using the depot. */
size_t cpi_depot_count_stocked(const struct cpi_depot *depot);

/* All exchanges of a party.  Any thread. */
uint64_t cpi_depot_exchanged(const struct cpi_counters *counters);

static inline void cpi_depot_begin_counting(struct cpi_counters *counters)
{
    atomic_init(&counters->stocked_in, 0);
    atomic_init(&counters->stocked_out, 0);
    atomic_init(&counters->empty_in, 0);
    atomic_init(&counters->empty_out, 0);
    atomic_init(&counters->partials, 0);
    atomic_init(&counters->retries, 0);
}

/* Each counter has one writer, so adding needs no locked instruction. */
static inline uint64_t cpi_depot_account(_Atomic uint64_t *counter, uint64_t more)
{
    uint64_t now = cpi_load(counter, relaxed) + more; /* [own] */

    cpi_store(counter, now, release); /* [account] */
    return now;
}

static inline struct cpi_magazine *cpi_depot_magazine(const struct cpi_depot *depot,
                                                      uint32_t node)
{
    const struct cpi_links *all = &depot->links;

    CPI_ASSERT(node != 0 && node <= CPI_INDEX_MAX);
    return (struct cpi_magazine *)(void *)(all->links + (size_t)(node - 1) * all->stride);
}

/*
 * The exchanges themselves, for caches that know what lies on which stack.  `counter` is
 * that of the stack and the direction.  pop returns 0 if the stack is empty.
 */
static inline uint32_t cpi_depot_pop(struct cpi_depot *depot, struct cpi_tagstack *stack,
                                     struct cpi_counters *counters, _Atomic uint64_t *counter)
{
    uint64_t retries = 0;
    uint32_t node = cpi_tagstack_pop(stack, &depot->links, &retries);

    if (CPI_UNLIKELY(retries != 0))
        cpi_depot_account(&counters->retries, retries);
    if (node != 0) {
        cpi_depot_account(counter, 1);
        CPI_PROBE2(exchange, depot, 1);
    }
    return node;
}

static inline void cpi_depot_push(struct cpi_depot *depot, struct cpi_tagstack *stack,
                                  uint32_t node, struct cpi_counters *counters,
                                  _Atomic uint64_t *counter)
{
    uint32_t retries = cpi_tagstack_push(stack, &depot->links, node);

    if (CPI_UNLIKELY(retries != 0))
        cpi_depot_account(&counters->retries, retries);
    cpi_depot_account(counter, 1);
    CPI_PROBE2(exchange, depot, 0);
}

#endif /* CPI_DEPOT_H */
