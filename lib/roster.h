/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roster.h - the caches of one pool, as a list that anybody may walk.
 *
 * Floor 5.  Includes cache.h, extent.h.
 *
 *   | cache 0 | cache 1 | ... | cache made - 1 | not yet used ...      | max
 *
 * A cache structure, once made, stays where it is for the life of the pool and
 * is used again; its counters go on.  So a thief or a statistician may look at
 * structure i < made at any time, registered or not.
 */
#ifndef CPI_ROSTER_H
#define CPI_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache.h"
#include "extent.h"

struct cpi_roster {
    /* Constant. */
    cpool_t *pool;
    struct cpi_slab *slab;
    struct cpi_depot *depot;
    size_t table_offset; /* of the pool's entry in each thread's table; 0: none */
    bool inline_path;    /* the fast path may show its magazines */
    bool exact;          /* owners mark what they do, for recall.h */
    void (*forked)(cpool_t *pool); /* in the child of a fork, after adoption */
    void (*returned)(cpool_t *pool); /* after an ended thread's slots came back */
    size_t max;          /* caches that may be registered at once */
    uint32_t share_max;  /* spares that one cache may have */
    uint32_t spares_max; /* spares to be shared out, beyond each cache's first */

    /* Dealings of operations without a cache; added to by any thread. */
    struct cpi_dealings outside;
    _Atomic uint32_t visitors; /* operations without a cache under way now */
    _Atomic uint64_t recalls; /* spares taken out of caches because the pool was dry */

    /* Guarded by the lock. */
    struct cpi_extent caches;   /* the structures */
    _Atomic size_t made;        /* structures ever used; read by thieves too */
    _Atomic size_t used;        /* registered now; read without it as a hint */
    struct cpi_cache *unused;   /* made, not registered */
    uint32_t spares_left;       /* of spares_max */
    struct cpi_roster *next;    /* in the same bucket of all rosters */
    int64_t stocked_correction; /* what forks have hidden from the accounts */
    bool disturbed;             /* there is something to correct, in a child of fork */
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
    bool exact;
    void (*forked)(cpool_t *pool);
    void (*returned)(cpool_t *pool);
};

/* Bytes that the structures of `max` caches with up to `share_max` spares take. */
size_t cpi_roster_bytes(size_t max, size_t share_max);

/* Magazines that the caches can have in their hands at once, if `spares` are
 * shared out among them beyond the first of each. */
size_t cpi_roster_magazines(size_t max, size_t spares);

/* The i-th structure, and how many there are.  Any thread; wait-free. */
struct cpi_cache *cpi_roster_cache(const struct cpi_roster *roster, size_t i);
size_t cpi_roster_made(const struct cpi_roster *roster);

/* Puts the account of the stocked stack right by counting.  With the lock held;
 * nobody may be using the pool. */
void cpi_roster_recount(struct cpi_roster *roster);

/* With the lock held. */
void cpi_roster_figures(const struct cpi_roster *roster, struct cpi_roster_figures *figures);

/*
 * Brackets an operation without a cache, which has dealings of its own: visit
 * clears them, account adds them to the roster's.  Any thread; wait-free.
 */
void cpi_roster_visit(struct cpi_roster *roster, struct cpi_dealings *dealings);
void cpi_roster_account(struct cpi_roster *roster, const struct cpi_dealings *dealings);

#endif /* CPI_ROSTER_H */
