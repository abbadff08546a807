/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/pools.h - the pools of a process: by address, by name, and all of them.
 *
 * OVERVIEW
 *
 *     #include <cpool/pools.h>
 *
 *     cpool_release(particle);                   goes back to its pool, whichever
 *     pool = cpool_of(particle, NULL);           that pool
 *
 * A pool is found by the address of any of its slots, in a time that depends neither on
 * the number of pools nor on their sizes.  So an object can go back without a pointer to
 * its pool, and a report about a stray pointer can name the pool that it leads into.
 *
 * cpool_find knows a pool by its name, cpool_each walks over all of them with their
 * figures, and cpool_print with CPOOL_PRINT_ALL shows these.
 *
 * NOTES
 *
 * All of it is about the pools of one copy of the library.  Where a process holds several
 * copies, as when a plug-in has one linked statically, each knows its own pools.
 *
 * In gdb, of processes and of core files, these commands show the same, by reading memory
 * alone.  They come with the library: gdb loads them from beside it, if it trusts that
 * folder (set auto-load safe-path), or from its own folder.  They need the library's debug
 * information.  POOL is a name or an expression:
 *
 *     cpool list               all pools, with live and free slots
 *     cpool show POOL          one of them
 *     cpool whatis ADDRESS     the pool and the slot, whether it is live, and where it lies
 *     cpool caches [POOL]      caches, their threads, and how much they hold
 *     cpool live POOL [COUNT]  the live slots, of checked pools by where they were taken
 *
 * A library that was configured with --enable-probes has static probes (USDT) of the
 * provider libcpool, which tracers attach to while a program runs.  `pool` is a handle:
 *
 *     exchange(depot, taken)    a magazine was taken from the depot, or given: 0
 *     refill(pool, rounds)      a cache was refilled, and has so many slots loaded
 *     spill(pool, spares)       a cache is full, and has so many full spares
 *     growth(pool, capacity)    the capacity was raised to this
 *     recall(pool, found)       the pool was dry, and slots were sought in other caches
 *     wait(pool, deadline)      a thread goes to sleep until a slot is free
 *     report(code, text)        a mistake of the caller is reported
 *
 * One line for each, with the path of the library in place of LIB:
 *
 *     bpftrace -e 'usdt:LIB:libcpool:exchange { @[arg0, arg1] = count(); }'
 *     bpftrace -e 'usdt:LIB:libcpool:refill { @[tid, arg0] = hist(arg1); }'
 *     bpftrace -e 'usdt:LIB:libcpool:spill { @[tid, arg0] = count(); }'
 *     bpftrace -e 'usdt:LIB:libcpool:growth { printf("%p %d\n", arg0, arg1); }'
 *     bpftrace -e 'usdt:LIB:libcpool:recall { @[ustack, arg0] = count(); }'
 *     bpftrace -e 'usdt:LIB:libcpool:wait { @[ustack, arg0] = count(); }'
 *     bpftrace -e 'usdt:LIB:libcpool:report { printf("%s\n%s", str(arg1), ustack); }'
 *
 * Reference: the tree of addresses is that of page tables.  Entries of its upper levels
 * stand for whole ranges, as large pages do.
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
 * cpool_of - the pool and the slot that an address lies in.
 *
 * address   any address: of a slot, inside a slot, or in the bytes between two slots,
 *           which count to the slot before them.  The slot may be live, free or never used
 * slot      receives the address of the slot, or NULL if there is none.  It may be NULL
 *
 * Returns the pool, or NULL.  Where the slots are objects, blocks of many sizes or lanes',
 * functions that take or give slots, or change how many there are, report the result as
 * CPOOL_EPOOL, and so they do with what cpool_each shows.
 *
 * With a pool in a slot of another pool it is the inner one for
 * addresses among the inner one's slots, and the outer one for the rest.
 *
 * Other pools may be created and destroyed meanwhile.  While the pool itself is being
 * destroyed, the result is the pool or NULL.
 * Any thread, async-signal-safe.  A dozen dependent loads at most for addresses in slots,
 * wait-free.  For other addresses in the memory of a pool all pools may be looked through.
 * While there are pools with a fallback, it finds the beginnings of live blocks, too, and may
 * block for addresses in no slot.
 */
CPOOL_API cpool_t *cpool_of(const void *address, void **slot);

/*
 * cpool_release - cpool_free, on the pool of the slot.
 *
 * slot   from an alloc on any pool, not freed since.  NULL is a no-op
 *
 * Verified as by cpool_free.  An address inside a slot is reported as CPOOL_EMISALIGNED, and
 * one in no pool as CPOOL_EFOREIGN.  An object, a block of many sizes or a lane's slot is
 * reported as CPOOL_EPOOL.
 * Any thread, progress as cpool_free.
 */
CPOOL_API void cpool_release(void *slot);

/*
 * ---- All pools (cpool_each.3) ------------------------------------------------
 */

/* How a pool came to be. */
#define CPOOL_VIEW_TYPED 0x1u
#define CPOOL_VIEW_CALLERS 0x2u

/* The owner of the slots: an object pool, blocks of many sizes, or lanes. */
#define CPOOL_VIEW_OBJECTS 0x4u
#define CPOOL_VIEW_SIZED 0x8u
#define CPOOL_VIEW_LANES 0x10u

/*
 * A pool as cpool_each sees it.  Later versions may add members at the end.
 */
typedef struct cpool_view {
    size_t size;                /* bytes that the library has filled in */
    cpool_t *pool;              /* its handle.  NULL for blocks of many sizes, which are one
                                   view with the sums of their classes' figures, 0 where
                                   there is no sum, and for a fake object pool */
    const char *name;           /* its name, "" if it has none */
    const cpool_stats_t *stats; /* its figures */
    unsigned flags;             /* its flags and memory_flags, with CPOOL_OPTIONS' */
    unsigned kind;              /* CPOOL_VIEW_TYPED for a typed pool, CPOOL_VIEW_CALLERS
                                   for one in caller-provided memory, and
                                   CPOOL_VIEW_OBJECTS, _SIZED or _LANES */
    void *first;                /* its slot 0, or NULL without a handle */
    size_t slots;               /* slots that have an address, as cpool_index_limit, or 0 */
    uint64_t number;            /* larger than those of all pools that were created before */
    void *owner;                /* the cpool_objects_t, cpool_sized_t or cpool_lanes_t that
                                   the slots belong to, or NULL */
} cpool_view_t;

/*
 * cpool_each - calls a function for each pool of the process: of slots, of objects, of blocks
 * of many sizes, and with lanes.
 *
 * visit   gets a copy of the pool's name and figures, which is its own until it returns.
 *         It may use any function, on this pool and on others, and create and destroy
 *         pools.  It returns false to end the walk.  It may leave by longjmp or by an
 *         exception
 * arg     passed to it
 *
 * A pool that exists throughout the walk is visited once.  One that is created or destroyed
 * meanwhile may be visited or not.  Where another thread may destroy a pool, the visitor
 * keeps to the copy.
 *
 * Returns the number of pools visited.
 * Any thread.  It may block, but not while the visitor runs.
 */
CPOOL_API size_t cpool_each(bool (*visit)(const cpool_view_t *view, void *arg), void *arg)
    CPOOL_NONNULL_(1);

/*
 * cpool_find - the pool of a name.
 *
 * kind   0 for a cpool_t, CPOOL_VIEW_OBJECTS for a cpool_objects_t, CPOOL_VIEW_SIZED for a
 *        cpool_sized_t, or CPOOL_VIEW_LANES for a cpool_lanes_t
 * name   compared as far as pools keep their names: whole characters of 31 bytes at most
 *
 * Returns the pool of this kind that was created first of those with this name, or NULL.  The
 * program sees to it that the pool is not destroyed while it is used.
 * Any thread.  It may block.  Its time depends on the number of pools.
 */
CPOOL_API void *cpool_find(unsigned kind, const char *name);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_POOLS_H */
