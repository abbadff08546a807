/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layer.h - pools with slots that belong to a layer above: object pools, blocks of many sizes,
 * and lanes.
 *
 * Includes public headers, and alloc.h for the short way.
 *
 * The layer has the pool's handle, and everybody else its face (descriptor.h).  So functions that
 * take or give slots, or change how many there are, are refused to everybody else, at no
 * cost to any pool.  Functions that ask serve both.
 *
 * A layer that decides by itself how many slots there are creates the pool with `capacity`
 * equal to `max_capacity`, and lowers the capacity with cpool_shrink before the first alloc.
 * Such a pool never grows by itself.  Its figures have the slots that were handed out as capacity.
 */
#ifndef CPI_LAYER_H
#define CPI_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cpool.h>
#include <cpool/pools.h>

#include "pool/alloc.h"
#include "pool/stats.h"

/* To a layer they are calls: its own handle says no slots (descriptor.h). */
#undef cpool_index
#undef cpool_at

/* A layer's own pool as it is shown.  Lies in that pool. */
struct cpi_shown {
    unsigned kind;    /* CPOOL_VIEW_OBJECTS, CPOOL_VIEW_SIZED or CPOOL_VIEW_LANES */
    void *owner;      /* the layer's pool */
    const char *name;
    cpool_t *pool;    /* the first one of its slots, or NULL if it has none */
    void (*figures)(const void *owner, cpool_stats_t *stats); /* adds them up, with the lock
                         held.  NULL: they are those of `pool`, which is shown */
    void (*correct)(const void *owner, cpool_stats_t *stats); /* those of `pool`, or NULL */
    uint64_t number;         /* the list's: grows with each one */
    struct cpi_shown *next;  /* likewise */
};

/*
 * Beside a kind: `memory` is address space that the caller has reserved, in whole pages, and
 * that reads as zero once it is readable and writable.  The pool lies in it as in memory of its
 * own.  It commits the parts that it needs, which makes them readable and writable, and gives
 * memory back when it is trimmed.  The rest is the caller's to release.
 */
#define CPI_LAYER_RESERVED 0x100u

/* As cpool_create.  kind: as above.  With the lock held if an equal one was created before. */
int cpi_layer_create(cpool_t **pool, const cpool_config_t *config, unsigned kind);

/* As cpool_memory_required, for a pool in reserved addresses, which begin at a page, or at a
 * huge one with CPOOL_MEMORY_HUGE_PAGES. */
size_t cpi_layer_memory_required(const cpool_config_t *config);

/* Makes the owner, which is complete or made with the lock held, that of a pool's slots. */
void cpi_layer_own(cpool_t *pool, void *owner);

/* Shows an owner, which is complete, and hides it before its pools are destroyed. */
void cpi_layer_show(struct cpi_shown *shown);
void cpi_layer_hide(const struct cpi_shown *shown);

/* As cpool_stats, with the lock held. */
static inline void cpi_layer_figures(const cpool_t *pool, cpool_stats_t *stats)
{
    cpi_pool_figures(pool->state, stats);
}

/* Whether a layer's pool is a checked one, by its flags or by CPOOL_OPTIONS. */
static inline bool cpi_layer_is_checked(const cpool_t *pool)
{
    return ((const struct cpi_pool *)pool->state)->checked;
}

/* The face of a layer's pool.  Wait-free. */
static inline cpool_t *cpi_layer_face(const cpool_t *pool)
{
    return ((const struct cpi_pool *)pool->state)->face;
}

/* The owner of a pool of this kind, by its face.  NULL if it is another's.  Wait-free,
 * async-signal-safe. */
void *cpi_layer_owner(const cpool_t *face, unsigned kind);

/* The word for a pool of this kind. */
const char *cpi_layer_title(unsigned kind);

/* Whether a pool has a short way: nothing is to be done for a slot but to pop or to push it. */
static inline bool cpi_layer_is_short(const cpool_t *pool)
{
    return ((const struct cpi_pool *)pool->state)->registry.inline_path;
}

/* pool_slow.c.  As cpool_free, out of line, and a pop where the entry is hidden from the inline
 * path. */
void cpi_layer_free(cpool_t *pool, void *slot);
bool cpi_layer_pop_hidden(cpool_cache_t *entry, void **slot);

/* The short way, to the loaded magazine of the calling thread's cache.  pop returns false if that
 * has no slot, or for CPI_HANDLE_NONE.  push takes a slot that is live, and returns 0. */
CPI_WITHIN static inline bool cpi_layer_pop(const cpool_t *pool, void **slot)
{
    cpool_cache_t *entry = cpi_thread_entry(pool);

    CPOOL_POP_(entry, *slot, return cpi_layer_pop_hidden(entry, slot));
    return true;
}

CPI_WITHIN static inline int cpi_layer_push(cpool_t *pool, void *slot)
{
    cpool_cache_t *entry = cpi_thread_entry(pool);

    CPOOL_PUSH_(entry, slot, true, cpi_layer_free(pool, slot));
    return 0;
}

/* Takes a free slot of the calling thread's cache or of the depot.  NULL where they have none,
 * though other threads' caches may: cpool_alloc looks there, too.  Lock-free. */
void *cpi_layer_near(cpool_t *pool);

/*
 * Takes up to *n slots that were never handed out, past all caches, and beyond the capacity, too,
 * which stays as it is.  *n is set to their number, which is 1 in pools that are not plain, and the first
 * one is returned.  Those of a pool that was reset count as never handed out.  NULL when the pool
 * has no such slot, or the operating system refuses memory.  Lock-free.
 */
void *cpi_layer_fresh(cpool_t *pool, size_t *n);

/* How many were handed out.  Wait-free. */
static inline uintptr_t cpi_layer_reached(const cpool_t *pool)
{
    return cpi_slab_fresh(&((const struct cpi_pool *)pool->state)->slab);
}

/*
 * Gives the pages that lie within these n slots as a whole back to the operating system.  All
 * of them are live and the layer's, and `first` is the one with the lowest address.  Their
 * bytes on such pages become zero.  Checked pools, and pools in caller-provided memory, keep
 * theirs.  Returns the bytes given back that were resident.  Lock-free.
 */
size_t cpi_layer_discard(cpool_t *pool, void *first, size_t n);

/* The descriptors of a pool: its own, and its face.  take returns false if none is left.  open
 * has addresses lead to the face.  With the lock held. */
bool cpi_layer_take_handles(struct cpi_pool *pool);
void cpi_layer_give_handles(const struct cpi_pool *pool);
void cpi_layer_open_handles(struct cpi_pool *pool);

#endif /* CPI_LAYER_H */
