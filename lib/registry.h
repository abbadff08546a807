/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.h - which caches a pool has, and what becomes of them when their
 * thread ends, when the process forks, when the pool is reset or destroyed.
 *
 * Floor 5.  Includes cache.h, extent.h, thread.h.
 *
 *   all rosters --> roster of pool A --> roster of pool B
 *                    | structures, in an extent of the pool's memory
 *                    v
 *                   [ cache | cache | cache | unused ...
 *                       ^                ^
 *   thread 1: caches ---+    thread 2: --+
 *
 * A cache structure, once made, stays where it is for the life of the pool and
 * is used again; its counters go on.  Everything is guarded by the one lock of
 * thread.h.
 */
#ifndef CPI_REGISTRY_H
#define CPI_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache.h"
#include "extent.h"
#include "thread.h"

struct cpi_roster {
    /* Constant. */
    cpool_t *pool;
    struct cpi_slab *slab;
    struct cpi_depot *depot;
    size_t table_offset; /* of the pool's entry in each thread's table; 0: none */
    bool inline_path;    /* the fast path may show its magazines */
    size_t max;          /* caches that may be registered at once */
    uint32_t share_max;  /* spares that one cache may have */
    uint32_t spares_max; /* spares to be shared out, beyond each cache's first */

    /* Dealings of operations without a cache; added to by any thread. */
    struct cpi_dealings outside;
    _Atomic uint64_t recalls; /* spares taken out of caches because the pool was dry */

    /* Guarded by the lock. */
    struct cpi_extent caches;   /* the structures */
    _Atomic size_t made;        /* structures ever used; read by thieves too */
    size_t used;                /* registered now */
    struct cpi_cache *unused;   /* made, not registered */
    uint32_t spares_left;       /* of spares_max */
    struct cpi_roster *next;    /* in the same bucket of all rosters */
    int64_t stocked_correction; /* what forks have hidden from the accounts */
};

/* What a pool's caches amount to. */
struct cpi_roster_figures {
    size_t caches;         /* registered now */
    size_t rounds;         /* free slots in them */
    int64_t stocked;       /* magazines on the depot's stocked stack */
    uint64_t exchanges;
    uint64_t retries;
    uint64_t recalls;
    size_t spares;         /* spares that caches may use now */
};

/* What a roster is made for. */
struct cpi_roster_limits {
    size_t max;         /* caches */
    uint32_t share_max; /* spares of one cache */
    uint32_t spares;    /* spares of all caches together, beyond the first of each */
    bool inline_path;
};

/* Bytes that the structures of `max` caches with up to `share_max` spares take. */
size_t cpi_roster_bytes(size_t max, size_t share_max);

/* Magazines that the caches can have in their hands at once, if `spares` are
 * shared out among them beyond the first of each. */
size_t cpi_roster_magazines(size_t max, size_t spares);

/* Makes ready what the registry needs of threads and fork, once per process. */
bool cpi_registry_startup(void);

/*
 * Fills in what is constant, gives the pool an entry in the threads' tables if
 * one is left, and adds the roster to the list of all.  Takes the lock.
 */
void cpi_roster_open(struct cpi_roster *roster, const struct cpi_extent *caches, cpool_t *pool,
                     struct cpi_slab *slab, struct cpi_depot *depot,
                     const struct cpi_roster_limits *limits);

/* The reverse, with the lock held.  The caches must have been ended. */
void cpi_roster_close(struct cpi_roster *roster);

/* Ends all caches, and forgets what they hold.  With the lock held; no thread
 * may be using the pool. */
void cpi_roster_end_caches(struct cpi_roster *roster);

/* The calling thread's cache, made if need be; NULL if it can have none.  Takes
 * the lock if it has to be made. */
struct cpi_cache *cpi_roster_own_cache(struct cpi_roster *roster);

/* The calling thread's cache, or NULL if it has none yet.  Wait-free. */
struct cpi_cache *cpi_roster_known_cache(const struct cpi_roster *roster);

/* A cache that no thread owns; NULL if there is none left.  Takes the lock. */
struct cpi_cache *cpi_roster_add_cache(struct cpi_roster *roster);

/* Gives what a cache holds to the depot, and its structure back.  Takes the
 * lock. */
void cpi_roster_remove_cache(struct cpi_roster *roster, struct cpi_cache *cache);

/* Grants a cache that wants more spares twice as many, if the pool has them and
 * the lock is free at the moment.  The owner only.  Never blocks. */
void cpi_roster_widen(struct cpi_roster *roster, struct cpi_cache *cache);

/*
 * Gives a full spare of some cache to the depot; false if no cache has any.
 * Whether its owner runs, sleeps or is stopped does not matter.
 * Any thread; lock-free.
 */
bool cpi_roster_recall(struct cpi_roster *roster, struct cpi_dealings *dealings);

/* Puts the account of the stocked stack right by counting.  With the lock held;
 * nobody may be using the pool. */
void cpi_roster_recount(struct cpi_roster *roster);

/* With the lock held. */
void cpi_roster_figures(const struct cpi_roster *roster, struct cpi_roster_figures *figures);

/* Adds the dealings of an operation without a cache to the roster's.  Any
 * thread; wait-free. */
void cpi_roster_account(struct cpi_roster *roster, const struct cpi_dealings *dealings);

/* Whether a living pool lies at this address.  With the lock held. */
bool cpi_registry_knows(const cpool_t *pool);

#endif /* CPI_REGISTRY_H */
