/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.h - the caches of a pool, as a list that any thread may walk, and their fate
 * when their thread ends, when the process forks, when the pool is reset or destroyed.
 *
 * Includes cache.h, extent.h, thread.h (registry.c: also mark.h).
 *
 *   all registries --> registry of pool A
 *                        | cache 0 | cache 1 | ... | cache made - 1 | not yet used ... | max
 *                             ^         ^
 *        thread 1: caches ----+         |
 *        thread 2: caches --------------+
 *
 * A cache structure, once made, stays in its place for the life of the pool and is used
 * again.  Its counters go on.  So a stealing thread or a statistician may look at
 * structure i < made at any time, registered or not.  The one lock of thread.h guards
 * the owners of structures.
 */
#ifndef CPI_REGISTRY_H
#define CPI_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/cache.h"
#include "host/extent.h"
#include "host/thread.h"

struct cpi_pool;

/*
 * A place for a thread that uses the depot without a cache.  It has one holder at
 * a time, and its counters one writer.
 */
struct cpi_uncached {
    _Alignas(CPI_LINE) _Atomic uintptr_t holder; /* the thread's token, or 0 if free */
    _Atomic uint32_t turns;                      /* holders that have left */
    struct cpi_counters counters;
};

struct cpi_registry {
    /* Constant. */
    cpool_t *handle;
    struct cpi_slab *slab;
    struct cpi_depot *depot;
    bool inline_path;    /* the fast path may show its magazines */
    bool exact;          /* owners mark what they do, for steal.h */
    bool checked;        /* handles of destroyed caches are recognised for long */
    struct cpi_pool *pool;
    void (*forked)(struct cpi_pool *pool); /* in the child of a fork, after its caches were
                                              reclaimed */
    void (*returned)(struct cpi_pool *pool); /* after an ended thread's slots came back */
    size_t max;          /* caches that may be registered at once */
    uint32_t quota_max;  /* spares that one cache may have */
    uint32_t spares_max; /* spares to be shared out, beyond each cache's first */
    struct cpi_uncached *uncached; /* depot->uncached of them */

    /* Changed by any thread. */
    _Atomic uint32_t uncached_used; /* places that ever had a holder: the first so many */
    _Atomic uint64_t recalls; /* spares taken out of caches because the pool was dry */
    _Atomic uint64_t barriers; /* passed for this pool */

    struct cpi_signals mask_before; /* of the thread that holds the last place */

    /* Guarded by the lock. */
    struct cpi_extent caches;   /* the structures */
    _Atomic size_t made;        /* structures ever used, read by stealing threads too */
    _Atomic size_t used;        /* registered now, read without it as a hint */
    struct cpi_cache *unused;   /* made, not registered */
    uint32_t spares_left;       /* of spares_max */
    uint64_t registrations;     /* of caches so far */
    uint32_t leaving;           /* ended threads that are giving a cache back */
    struct cpi_registry *next;  /* of all registries */
    struct cpi_registry **link; /* the pointer to this one */
    int64_t stocked_correction; /* counts that forks have hidden from the accounts */
    bool disturbed;             /* a vanished thread was inside, in a child of fork */
};

/* The sums of a pool's caches. */
struct cpi_registry_figures {
    size_t caches;         /* registered now */
    size_t rounds;         /* free slots in them */
    int64_t stocked;       /* magazines on the depot's stocked stack */
    uint64_t exchanges;
    uint64_t retries;
    uint64_t recalls;
    uint64_t barriers;
    uint64_t registrations;
    size_t spares;         /* the quotas of all caches */
};

/* The limits that a registry is made for. */
struct cpi_registry_limits {
    size_t max;         /* caches */
    uint32_t quota_max; /* spares of one cache */
    uint32_t spares;    /* spares of all caches together, beyond the first of each */
    struct cpi_uncached *uncached; /* all zero */
    bool inline_path;
    bool exact;
    bool checked;
    void (*forked)(struct cpi_pool *pool);
    void (*returned)(struct cpi_pool *pool);
};

/* Bytes that the structures of `max` caches with up to `quota_max` spares take. */
size_t cpi_registry_bytes(size_t max, size_t quota_max);

/* Magazines that the caches can have in their hands at once, if `spares` are
 * shared out among them beyond the first of each. */
size_t cpi_registry_magazines(size_t max, size_t spares);

/* The i-th structure, the reverse, and how many there are.  Any thread, wait-free. */
struct cpi_cache *cpi_registry_cache(const struct cpi_registry *registry, size_t i);
size_t cpi_registry_number(const struct cpi_registry *registry, const struct cpi_cache *cache);
size_t cpi_registry_made(const struct cpi_registry *registry);

/* How many uncached operations' places have ever been used.  Any thread, wait-free. */
size_t cpi_registry_uncached_used(const struct cpi_registry *registry);

/* Puts the account of the stocked stack right by counting.  With the lock held,
 * while no thread uses the pool. */
void cpi_registry_recount(struct cpi_registry *registry);

/* With the lock held. */
void cpi_registry_figures(const struct cpi_registry *registry,
                          struct cpi_registry_figures *figures);

/*
 * Brackets an operation without a cache: enter returns a place, which is the
 * thread's until it leaves.  enter waits for a free place.  Callers that hold the lock must use
 * try_enter, which returns NULL then: the holder of a place may be about to fork, which needs
 * the lock.
 * Any thread.  A signal handler may do it inside another operation of its thread.
 *
 * Operations that signals have interrupted may hold all places but the last, while their
 * handlers wait for one.  So the last place is for enter alone, and signals are blocked while
 * a thread holds it, as under the lock: its holder leaves.
 */
struct cpi_uncached *cpi_registry_enter(struct cpi_registry *registry);
struct cpi_uncached *cpi_registry_try_enter(struct cpi_registry *registry);
void cpi_registry_leave(struct cpi_registry *registry, struct cpi_uncached *uncached);

/* Whether another thread than the caller holds the place. */
bool cpi_registry_is_held(const struct cpi_uncached *uncached);

/* In the child of a fork: frees the places of threads that vanished.  Returns true if there
 * were any. */
bool cpi_registry_vacate_vanished(struct cpi_registry *registry);

/* Makes ready what the registry needs of threads and fork, once per process. */
bool cpi_registry_startup(void);

/* Calls a function with each pool.  With the lock held. */
void cpi_registry_each(void (*visit)(struct cpi_pool *pool));

/*
 * Fills in a registry.  add gives it its pool's handle, and adds it to the list of all,
 * with the lock held.
 */
void cpi_registry_init(struct cpi_registry *registry, const struct cpi_extent *caches,
                       struct cpi_pool *pool, struct cpi_slab *slab, struct cpi_depot *depot,
                       const struct cpi_registry_limits *limits);
void cpi_registry_add(struct cpi_registry *registry, cpool_t *handle);

/* Waits for threads that have ended and are giving caches of this pool back.  With
 * the lock held, which it releases and retakes while it waits. */
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

/* A cache of another kind at a handle of its own, without spares, for this thread or for none,
 * or NULL if there is none left, and the reverse, when the cache has nothing any more.  With the
 * lock held. */
struct cpi_cache *cpi_registry_add_other(struct cpi_registry *registry,
                                         const struct cpi_owner *kind, cpool_t *handle,
                                         struct cpi_thread *owner);
void cpi_registry_end_other(struct cpi_registry *registry, struct cpi_cache *cache);

/* Gives what a cache holds to the depot, and its structure back.  Takes the
 * lock. */
void cpi_registry_remove_cache(struct cpi_registry *registry, struct cpi_cache *cache);

#endif /* CPI_REGISTRY_H */
