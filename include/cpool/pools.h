/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/pools.h - the pools of a process: by address, and as a list.
 *
 * OVERVIEW
 *
 *     #include <cpool/pools.h>
 *
 *     cpool_release(particle);                   freed to its pool, whichever that is
 *     pool = cpool_of(particle, NULL);           its pool
 *
 * cpool_of finds a pool by the address of any of its slots.  It remembers what the last lookups
 * found, for 1,024 times 64 KiB of addresses, and else checks each pool.  So a slot can be freed
 * without a pointer to its pool, and a report about a stray pointer can name the pool that it
 * points into.
 *
 * cpool_each visits all pools with their names and figures.  cpool_dump
 * writes them.
 *
 * NOTES: cpool_pools(3) has notes on copies of the library and gdb (doc/man/cpool_pools.txt).
 */
#ifndef CPOOL_POOLS_H
#define CPOOL_POOLS_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Pools by address (cpool_of.3) ------------------------------------------
 */

/*
 * cpool_of - finds the pool and the slot of an address.
 *
 * address   any address: of a slot, inside a slot, or in the bytes between two slots,
 *           which belong to the slot before them.  The slot may be live, free or never used
 * slot      receives the address of the slot, or NULL if there is none.  It may be NULL
 *
 * Returns the pool, or NULL.  A pool of objects, of blocks of many sizes or of lanes is only for
 * queries, like those that cpool_each shows: functions that allocate or free slots, or change their
 * number, report it as CPOOL_EPOOL.
 *
 * If the memory of a pool is a slot of another pool, it returns either of the two.  cpool_release
 * may then report CPOOL_EMISALIGNED.
 *
 * Other pools may be created and destroyed meanwhile.  While the pool itself is being
 * destroyed, the result is the pool or NULL.
 * Any thread, wait-free, async-signal-safe.
 */
CPOOL_API cpool_t *cpool_of(const void *address, void **slot);

/*
 * cpool_release - like cpool_free, on the pool of the slot.
 *
 * slot   from an alloc on any pool, not freed since.  NULL is a no-op
 *
 * Verified as by cpool_free.  An address inside a slot is reported as CPOOL_EMISALIGNED, and
 * an address in no pool as CPOOL_EFOREIGN.  An object, a block of many sizes or a slot of a
 * lane is reported as CPOOL_EPOOL.
 * Any thread, progress as cpool_free.
 */
CPOOL_API void cpool_release(void *slot);

/*
 * ---- All pools (cpool_each.3) ------------------------------------------------
 */

/* How the pool was created. */
#define CPOOL_VIEW_TYPED 0x1u
#define CPOOL_VIEW_CALLERS 0x2u

/* The owner of the slots: an object pool, blocks of many sizes, or lanes. */
#define CPOOL_VIEW_OBJECTS 0x4u
#define CPOOL_VIEW_SIZED 0x8u
#define CPOOL_VIEW_LANES 0x10u

/*
 * A pool as cpool_each shows it.  Later versions may add members at the end.
 */
typedef struct cpool_view {
    size_t size;                /* bytes that the library has filled in */
    cpool_t *pool;              /* the pool.  NULL for a fake object pool, and for blocks of
                                   many sizes, which are one view with the sums of their
                                   classes' figures, or 0 for a figure without a sum */
    const char *name;           /* its name, "" if it has none */
    const cpool_stats_t *stats; /* its figures */
    unsigned flags;             /* its flags, including those of CPOOL_OPTIONS */
    unsigned kind;              /* CPOOL_VIEW_TYPED for a typed pool, CPOOL_VIEW_CALLERS
                                   for one in caller-provided memory, and
                                   CPOOL_VIEW_OBJECTS, _SIZED or _LANES */
    void *first;                /* its slot 0, or NULL if `pool` is NULL */
    size_t slots;               /* slots that have an address, as cpool_index_limit, or 0 */
    uint64_t number;            /* larger than those of all pools created before */
    void *owner;                /* the cpool_objects_t, cpool_sized_t or cpool_lanes_t that
                                   the slots belong to, or NULL */
} cpool_view_t;

/* A visitor, as of cpool_each. */
typedef bool (*cpool_visit_t)(const cpool_view_t *view, void *arg);

/*
 * cpool_each - calls a function for each pool of the process: of slots, of objects, of blocks
 * of many sizes, and with lanes.
 *
 * visit   called with a copy of the pool's name and figures, valid until it returns.
 *         It may use any function, on this pool and on others, and create and destroy
 *         pools.  It returns false to end the walk.  It may leave by longjmp or by an
 *         exception
 * arg     passed to it
 *
 * A pool that exists throughout the walk is visited once.  A pool created or destroyed meanwhile
 * may or may not be visited.  If another thread may destroy a pool, the visitor must use only the
 * copy.
 *
 * Returns the number of pools visited.
 * Any thread.  It may block, but not while the visitor runs.
 */
CPOOL_API size_t cpool_each(cpool_visit_t visit, void *arg) CPOOL_NONNULL_(1);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_POOLS_H */
