/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.h - the caches of a pool, as a list that any thread may walk; and what happens to them
 * when their thread ends, the process forks, or the pool is reset or destroyed.
 *
 *   all registries --> registry of pool A
 *                        | cache 0 | cache 1 | ... | cache made - 1 | not yet used ... | max
 *                             ^         ^
 *        thread 1: caches ----+         |
 *        thread 2: caches --------------+
 *
 * Once made, a cache structure stays where it is for the life of the pool, and is reused.  Its
 * counters are never reset.  So any thread may read structure i < made at any time, registered or
 * not.  The lock of thread.h guards who owns a structure.
 *
 * ORDERING TABLE
 *   known | made load | acquire | registry.c's new | zeroed structure
 */
#ifndef CPI_REGISTRY_H
#define CPI_REGISTRY_H

#include "cache/cache.h"
#include "depot/extent.h"
#include "process/thread.h"

struct cpi_pool;
struct cpi_waiters;

struct cpi_registry {
    /* Constant. */
    cpool_t *handle;
    struct cpi_slab *slab;
    struct cpi_depot *depot;
    struct cpi_pool *pool;

    /* Constant once set after init. */
    bool inline_path;   /* allocs and frees only pop and push, so the inline path serves them */
    bool tracked;       /* they also change the slot's word */
    bool checked;       /* handles of destroyed caches are recognised for longer */
    size_t max;         /* caches that may be registered at the same time */
    uint32_t quota_max; /* the largest quota of one cache */
    size_t stride;      /* bytes from one structure to the next */
    uint32_t sample; /* allocs for each sample, or 0 */
    uint32_t spares;    /* spares that are shared out, beyond each cache's first */
    struct cpi_waiters *waiters; /* defined by wait/ */

    /* Written by any thread. */
    _Atomic uint32_t closed;   /* threads that close entries, wait, or trim: no entry is opened */
    _Atomic uint64_t reclaims; /* magazines taken out of other threads' caches */
    _Atomic uint64_t barriers; /* the number passed for this pool */

    /* Guarded by the lock. */
    struct cpi_extent caches;   /* the structures */
    _Atomic size_t made;        /* structures ever used, also read by stealing threads */
    _Atomic size_t used;        /* caches registered now, also read without the lock as a hint */
    struct cpi_cache *unused;   /* structures that are made but not registered */
    uint32_t spares_out;        /* how many of `spares` are shared out now */
    uint64_t registrations;     /* caches registered so far */
    uint32_t leaving;           /* ended threads that are still giving a cache back */
    struct cpi_registry *next;  /* in the list of all registries */
    struct cpi_registry **link; /* the pointer to this registry */
    int64_t stocked_correction; /* for the counters' sum; written while nobody uses the pool */
    unsigned forks;             /* how many forks the pool has gone through in the child */
    bool disturbed;             /* in the child of a fork, a vanished thread was inside */
    bool counts_at_once;        /* the pool has a mark of pressure */
};

/* The sums over a pool's caches. */
struct cpi_registry_figures {
    size_t rounds;         /* free slots in them */
    size_t in_depot;       /* free slots in the depot */
    int64_t live;          /* slots in use, exact if nobody uses the pool.  Negative if slots came
                              back more often than they went out */
    int64_t stocked;       /* magazines on the depot's stocked stack */
    uint64_t exchanges;
};

/* Bytes that the structures of `max` caches take, each with up to `quota_max` spares. */
size_t cpi_registry_bytes(size_t max, size_t quota_max);

/* The most magazines that the caches can hold at the same time, if `spares` are shared out among
 * them beyond each one's first. */
size_t cpi_registry_magazines(size_t max, size_t spares);

/* The i-th structure, and the number of structures.  Any thread, wait-free. */
static inline struct cpi_cache *cpi_registry_cache(const struct cpi_registry *registry, size_t i)
{
    CPI_ASSERT(i < registry->max);
    return (struct cpi_cache *)(void *)(registry->caches.base + i * registry->stride);
}

static inline size_t cpi_registry_made(const struct cpi_registry *registry)
{
    return cpi_load(&registry->made, acquire); /* [known] */
}

/* Corrects the sum for the stocked stack by counting, and returns the number of live slots (see
 * struct cpi_registry_figures).  With the lock held, while no thread uses the pool. */
int64_t cpi_registry_recount(struct cpi_registry *registry);

/* Fills in the figures.  Wait-free. */
void cpi_registry_add_up(const struct cpi_registry *registry, struct cpi_registry_figures *figures);

/* The number of live slots, at least 0.  Wait-free. */
size_t cpi_registry_count_live(const struct cpi_registry *registry);

/* The next registry in the list of all, or the first if `registry` is NULL.  NULL after the last.
 * With the lock held. */
struct cpi_registry *cpi_registry_next(const struct cpi_registry *registry);

/* init completes a registry whose extent is set, and the rest is zero, for caches with up to
 * `quota_max` spares. add, with the lock held, sets its pool's handle and adds it to the list of
 * all. */
void cpi_registry_init(struct cpi_registry *registry, struct cpi_pool *pool, struct cpi_slab *slab,
                       struct cpi_depot *depot, size_t quota_max);
void cpi_registry_add(struct cpi_registry *registry, cpool_t *handle);

/* Gives one cache of an ending thread to the depot and returns its registry, or NULL if the thread
 * has no more caches.  Until the next call, the pool is neither reset nor destroyed.  The caller
 * does not hold the lock in between: others may be waiting for the slots. */
struct cpi_registry *cpi_registry_leave(struct cpi_thread *thread);

/* In the child of a fork: takes a registry over from the threads that have vanished. */
void cpi_registry_mend(struct cpi_registry *registry);

/* Waits for ended threads that are still giving caches of this pool back.  With the lock held,
 * which it releases while it waits. */
void cpi_registry_await_leaving(struct cpi_registry *registry);

/* Ends all caches, and discards what they hold.  With the lock held, while no thread uses the
 * pool. */
void cpi_registry_end_caches(struct cpi_registry *registry);

/* The calling thread's cache, created if necessary, or NULL if it cannot have one.  Takes the lock
 * to create it. */
struct cpi_cache *cpi_registry_own_cache(struct cpi_registry *registry);

/* The calling thread's cache, or NULL if it has none.  Wait-free. */
static inline struct cpi_cache *cpi_registry_known_cache(const struct cpi_registry *registry)
{
    return cpi_thread_entry(registry->handle)->home;
}

/* Creates a cache that no thread owns.  Returns 0, CPOOL_ELIMIT if as many are in use as there can
 * be, or CPOOL_ENOMEM.  Takes the lock. */
int cpi_registry_add_cache(struct cpi_registry *registry, struct cpi_cache **cache);

/* Gives the cache's slots to the depot, and its structure back.  Takes the lock. */
void cpi_registry_remove_cache(struct cpi_registry *registry, struct cpi_cache *cache);

#endif /* CPI_REGISTRY_H */
