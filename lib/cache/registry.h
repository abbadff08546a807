/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.h - the caches of a pool, as a list that any thread may walk, and their fate
 * when their thread ends, when the process forks, when the pool is reset or destroyed.
 *
 *   all registries --> registry of pool A
 *                        | cache 0 | cache 1 | ... | cache made - 1 | not yet used ... | max
 *                             ^         ^
 *        thread 1: caches ----+         |
 *        thread 2: caches --------------+
 *
 * A cache structure, once made, stays in its place for the life of the pool and is used again.
 * Its counters go on.  So a thread that closes entries or a statistician may look at structure
 * i < made at any time, registered or not.  The one lock of thread.h guards the owners of
 * structures.
 */
#ifndef CPI_REGISTRY_H
#define CPI_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

    /* Constant, set after init. */
    bool inline_path;   /* nothing is to be done for a slot but to pop or to push it */
    bool tracked;       /* but for a change of the slot's word */
    bool checked;       /* handles of destroyed caches are recognised for long */
    size_t max;         /* caches that may be registered at once */
    uint32_t quota_max; /* spares that one cache may have */
    size_t stride;      /* bytes from one structure to the next */
    uint32_t spares;    /* spares to be shared out, beyond each cache's first */
    struct cpi_waiters *waiters; /* wait/ has them */

    /* Changed by any thread. */
    _Atomic uint32_t closed;  /* threads that close entries, wait, or trim: no entry is opened */
    _Atomic uint64_t recalls; /* magazines taken out of other threads' caches */
    _Atomic uint64_t barriers; /* passed for this pool */

    /* Guarded by the lock. */
    struct cpi_extent caches;   /* the structures */
    _Atomic size_t made;        /* structures ever used, read by stealing threads too */
    _Atomic size_t used;        /* registered now, read without it as a hint */
    struct cpi_cache *unused;   /* made, not registered */
    uint32_t spares_out;        /* of `spares`, shared out now */
    uint64_t registrations;     /* of caches so far */
    uint32_t leaving;           /* ended threads that are giving a cache back */
    struct cpi_registry *next;  /* of all registries */
    struct cpi_registry **link; /* the pointer to this one */
    int64_t stocked_correction; /* counts that forks have hidden from the accounts */
    unsigned forks;             /* that the pool has gone through, as the child of each */
    bool disturbed;             /* a vanished thread was inside, in a child of fork */
};

/* The sums of a pool's caches. */
struct cpi_registry_figures {
    size_t caches;         /* registered now */
    size_t rounds;         /* free slots in them */
    size_t in_depot;       /* free slots in the depot */
    int64_t live;          /* slots in use, exact if nobody uses the pool.  Below zero, slots came
                              back more often than they went out */
    int64_t stocked;       /* magazines on the depot's stocked stack */
    uint64_t exchanges;
    uint64_t retries;
    uint64_t recalls;
    uint64_t barriers;
    uint64_t registrations;
    size_t spares;         /* the quotas of all caches */
};

/* Bytes that the structures of `max` caches with up to `quota_max` spares take. */
size_t cpi_registry_bytes(size_t max, size_t quota_max);

/* Magazines that the caches can have in their hands at once, if `spares` are
 * shared out among them beyond the first of each. */
size_t cpi_registry_magazines(size_t max, size_t spares);

/* The i-th structure, and how many there are.  Any thread, wait-free. */
struct cpi_cache *cpi_registry_cache(const struct cpi_registry *registry, size_t i);
size_t cpi_registry_made(const struct cpi_registry *registry);

/* Puts the account of the stocked stack right by counting, and returns the live slots (see
 * cpi_registry_figures).  With the lock held, while no thread uses the pool. */
int64_t cpi_registry_recount(struct cpi_registry *registry);

/* Fills in `rounds`, `in_depot`, `live`, `stocked`, `exchanges` and `retries`.  The others are 0.
 * Wait-free. */
void cpi_registry_add_up(const struct cpi_registry *registry, struct cpi_registry_figures *figures);

/* Fills in all.  With the lock held. */
void cpi_registry_figures(const struct cpi_registry *registry,
                          struct cpi_registry_figures *figures);

/* Slots that are live, at least 0.  With the lock held. */
size_t cpi_registry_count_live(const struct cpi_registry *registry);

/* The registry after this one in the list of all, or the first for NULL.  NULL after the last.
 * With the lock held. */
struct cpi_registry *cpi_registry_next(const struct cpi_registry *registry);

/*
 * Fills in a registry, for caches with up to `quota_max` spares.  add gives it its pool's handle,
 * and adds it to the list of all, with the lock held.
 */
void cpi_registry_init(struct cpi_registry *registry, const struct cpi_extent *caches,
                       struct cpi_pool *pool, struct cpi_slab *slab, struct cpi_depot *depot,
                       size_t quota_max);
void cpi_registry_add(struct cpi_registry *registry, cpool_t *handle);

/*
 * leave gives a cache of a thread that ends to the depot, and returns its registry, or NULL when
 * the thread has no more.  Until cpi_registry_left the pool is neither reset nor destroyed.
 * Without the lock: slots that came back may be what others wait for.
 */
struct cpi_registry *cpi_registry_leave(struct cpi_thread *thread);
void cpi_registry_left(struct cpi_thread *thread);

/* In the child of a fork: takes a registry over from threads that have vanished. */
void cpi_registry_mend(struct cpi_registry *registry);

/* Waits for threads that have ended and are giving caches of this pool back.  With the lock held.
 * Releases and retakes it while it waits. */
void cpi_registry_await_leaving(struct cpi_registry *registry);

/* The reverse of add, with the lock held.  The caches must have been ended. */
void cpi_registry_remove(struct cpi_registry *registry);

/* Ends all caches, and forgets what they hold.  With the lock held, while no
 * thread uses the pool. */
void cpi_registry_end_caches(struct cpi_registry *registry);

/* The calling thread's cache, made if need be, or NULL if it can have none.
 * Takes the lock if it has to be made. */
struct cpi_cache *cpi_registry_own_cache(struct cpi_registry *registry);

/* The calling thread's cache, or NULL if it has none yet.  Wait-free. */
static inline struct cpi_cache *cpi_registry_known_cache(const struct cpi_registry *registry)
{
    return cpi_thread_entry(registry->handle)->home;
}

/* A cache that no thread owns, or NULL if there is none left.  Takes the lock. */
struct cpi_cache *cpi_registry_add_cache(struct cpi_registry *registry);

/* Gives what a cache holds to the depot, and its structure back.  Takes the
 * lock. */
void cpi_registry_remove_cache(struct cpi_registry *registry, struct cpi_cache *cache);

#endif /* CPI_REGISTRY_H */
