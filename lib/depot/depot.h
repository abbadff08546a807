/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * depot.h - magazines, which are arrays of free slots, and the depot, a global store of magazines
 * that no cache owns.
 *
 *   +------+-------+---------+---------+-----+------------------+
 *   | link | count | round 0 | round 1 | ... | round limit - 1  |    a magazine
 *   +------+-------+---------+---------+-----+------------------+
 *
 * Magazines lie outside the slab, in memory that lasts as long as the pool, and are numbered from
 * 1.  At any time a magazine is in exactly one place: on a stack of the depot, in the depot's
 * partial magazine, or with one cache or thread, its owner.  Only the owner may touch count and
 * rounds.
 *
 *   stocked: tag|i -> M -> M -> M    full magazines
 *   empty:   tag|i -> M -> M         magazines without a round
 *   partial: i                       the one magazine that is neither, or 0
 *
 * Invariants
 * A stocked magazine is full.  There is always an empty magazine, as long as no slot is freed twice
 * (doc/CONCURRENCY.md 3.2 and 3.3).
 *
 * Progress: everything here is lock-free, except `provide`, which may make a system call, and
 * take_empty, which yields a bounded number of times if it finds no empty magazine.
 *
 * ORDERING TABLE
 *   account | counter store    | release | depot.c's counted | the exchange it counts
 *   own     | own counter load | relaxed | - | -
 *   count   | a magazine's count load, store | relaxed | - | -
 *
 * A magazine's count is atomic only because figures are read while others work.  The depot's
 * exchanges order it between owners.  While a magazine is loaded in a cache, the cache keeps the
 * count, and this one is 0.
 */
#ifndef CPI_DEPOT_H
#define CPI_DEPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "depot/extent.h"
#include "depot/tagstack.h"

struct cpi_magazine {
    _Atomic uint32_t link;  /* used by tagstack.h */
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

/* The number of operations without a cache that one pool allows at once (doc/DESIGN.md, "Limits"),
 * in our own memory, in small pools, and in the caller's memory.  A drain is one of them. */
#define CPI_UNCACHED_OWN 64u
#define CPI_UNCACHED_SMALL 16u
#define CPI_UNCACHED_CALLER 4u
#define CPI_UNCACHED_MIN 2u

/* The exchanges of one party with the depot.  A party is a cache, for as long as the pool lives, or
 * one operation without a cache.  Only that party writes them, anybody reads them. */
struct cpi_counters {
    _Atomic uint64_t stocked_in;  /* full magazines pushed */
    _Atomic uint64_t stocked_out; /* full magazines popped */
    _Atomic uint64_t others;      /* empty and partial magazines, left or taken */
};

struct cpi_depot {
    struct cpi_links links;      /* constant: the magazines' addresses */
    uint32_t limit;              /* constant: rounds in a full magazine */
    uint32_t for_slots_max;      /* constant: magazines in the first extent */
    uint32_t uncached;           /* constant: CPI_UNCACHED_… */

    /* Rarely written. */
    _Atomic uint32_t drains; /* drains begun plus drains ended (memory.c): odd while a draining
                                thread holds the magazines */

    /* Written by all threads, so each is on its own cache line.  The pair's other line has what is
     * used when slots are handed out for the first time. */
    _Alignas(CPI_LINE) struct cpi_tagstack stocked;
    _Alignas(CPI_LINE) struct cpi_extent for_slots; /* magazines for slots handed out */
    _Atomic uint32_t made_for_slots;                /* magazines of it ever used */

    _Alignas(CPI_LINE) struct cpi_tagstack empty;
    _Alignas(CPI_LINE) struct cpi_extent for_caches; /* magazines for caches' own stock */
    _Atomic uint32_t made_for_caches;                /* magazines of it ever used */

    _Alignas(CPI_LINE) _Atomic uint32_t partial; /* 0: none */
    char pad_partial[CPI_LINE_PAIR - sizeof(uint32_t)];

    _Alignas(CPI_LINE) _Atomic uint64_t flights; /* see depot.c */
    struct cpi_counters flown;                   /* exchanges of operations that have left, added
                                                    by any thread */
};

/* Bytes from one magazine of `limit` rounds to the next. */
size_t cpi_depot_stride(size_t limit);

/* Magazines that a pool of `capacity` slots needs in addition to its caches'. */
size_t cpi_depot_magazines(size_t capacity, size_t limit, size_t uncached);

/* Completes a depot whose extents are set, and the rest is zero.  for_slots and for_caches are
 * adjacent.  Either both sizes are multiples of the stride, or unused bytes after the first make it
 * one. */
void cpi_depot_init(struct cpi_depot *depot, uint32_t limit, uint32_t uncached);

/* Commits the memory that `handed_out` slots can need, before they are handed out.  Returns false
 * if refused. */
bool cpi_depot_provide(struct cpi_depot *depot, uintptr_t handed_out);

/*
 * Takes a full magazine, an empty one, or the partial one.  Returns 0 if there is none.  If there
 * is no empty one, an invariant is broken: more slots were freed than ever handed out.
 *
 * The party must be inside (cache.h) from before it takes a magazine until the magazine is in its
 * new place.
 */
uint32_t cpi_depot_take_stocked(struct cpi_depot *depot, struct cpi_counters *counters);
uint32_t cpi_depot_take_empty(struct cpi_depot *depot, struct cpi_counters *counters);
uint32_t cpi_depot_take_partial(struct cpi_depot *depot, struct cpi_counters *counters);

/* Gives back a magazine that the caller owns, however full it is. */
void cpi_depot_give(struct cpi_depot *depot, struct cpi_counters *counters, uint32_t node);

/* Brackets an operation without a cache: it is in flight from enter to leave.  If too many are in
 * flight, try_enter returns false and enter waits.  If the operation calls a function of the
 * program that forks, it is not in flight in the child.  Any thread. */
struct cpi_uncached {
    struct cpi_counters counters; /* for its exchanges */
    uint16_t epoch;
};

bool cpi_depot_try_enter(struct cpi_depot *depot, struct cpi_uncached *uncached);
void cpi_depot_enter(struct cpi_depot *depot, struct cpi_uncached *uncached);
void cpi_depot_leave(struct cpi_depot *depot, const struct cpi_uncached *uncached);

/* The state of operations in flight, for the next functions.  Any thread, wait-free. */
uint64_t cpi_depot_flights(const struct cpi_depot *depot);

/* The number in flight at that time; and the number, modulo 2^32, that had left after an
 * exchange. */
static inline uint32_t cpi_depot_in_flight(uint64_t flights)
{
    return (uint32_t)(flights & 0xff) + (uint32_t)(flights >> 8 & 0xff);
}

static inline uint32_t cpi_depot_moves(uint64_t flights)
{
    return (uint32_t)(flights >> 32);
}

/* Whether all operations in flight at that time have left.  Asked repeatedly, it returns true in
 * the end, however many have entered since.  Any thread, lock-free. */
bool cpi_depot_have_left(struct cpi_depot *depot, uint64_t flights);

/* In the child of a fork: resets to no operation in flight.  Returns whether there was one. */
bool cpi_depot_forked(struct cpi_depot *depot);

/* Allocates or frees one slot without a cache. alloc returns NULL if there is no slot, free returns
 * false if there is no empty magazine. */
void *cpi_depot_alloc_slot(struct cpi_depot *depot, struct cpi_counters *counters);
bool cpi_depot_free_slot(struct cpi_depot *depot, struct cpi_counters *counters, void *slot);

/* Forgets all magazines.  Nobody else may be using the depot. */
void cpi_depot_reset(struct cpi_depot *depot);

/* A draining thread takes all magazines for a while, and then gives them back.  It calls this
 * before it takes the first and after it has given the last.  One drain at a time. */
void cpi_depot_turn_drain(struct cpi_depot *depot);

/* Drains begun and ended so far. */
uint32_t cpi_depot_drains(const struct cpi_depot *depot);

/* Returns true if a draining thread holds the magazines, or has held them since `seen` was read.
 * Then a thread that found none has to search again. */
static inline bool cpi_depot_was_drained(const struct cpi_depot *depot, uint32_t seen)
{
    return seen % 2 != 0 || cpi_depot_drains(depot) != seen;
}

/* Whether there is a full magazine at the moment. */
static inline bool cpi_depot_has_stocked(const struct cpi_depot *depot)
{
    return cpi_tagstack_top(&depot->stocked) != 0;
}

/* Magazines made so far, an estimate while others work. */
uint32_t cpi_depot_made(const struct cpi_depot *depot);

/* Rounds in the partial magazine, an estimate while others work. */
uint32_t cpi_depot_partial_rounds(const struct cpi_depot *depot);

/* Counts the full magazines one by one.  Nobody else may be using the depot. */
size_t cpi_depot_count_stocked(const struct cpi_depot *depot);

/* All exchanges of a party.  Any thread. */
uint64_t cpi_depot_exchanged(const struct cpi_counters *counters);

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

/* The exchanges themselves, for callers that know which stack they want.  `counter` is the counter
 * of that stack and direction. pop returns 0 if the stack is empty. */
static inline uint32_t cpi_depot_pop(struct cpi_depot *depot, struct cpi_tagstack *stack,
                                     _Atomic uint64_t *counter)
{
    uint32_t node = cpi_tagstack_pop(stack, &depot->links);

    if (node != 0)
        cpi_depot_account(counter, 1);
    return node;
}

static inline void cpi_depot_push(struct cpi_depot *depot, struct cpi_tagstack *stack,
                                  uint32_t node, _Atomic uint64_t *counter)
{
    cpi_tagstack_push(stack, &depot->links, node);
    cpi_depot_account(counter, 1);
}

#endif /* CPI_DEPOT_H */
