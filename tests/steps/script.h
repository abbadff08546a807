/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * script.h - shared by the tests of forks: a thread that takes and frees slots by a
 * script, tells at any time its live slots and its present operation, and is left
 * behind by a fork, and the audit in the child.
 *
 * Includes steps.h.  Its source looks into the pool, so programs that use it link
 * the modules.
 */
#ifndef CPOOL_TESTS_SCRIPT_H
#define CPOOL_TESTS_SCRIPT_H

#include "steps.h"

enum { SCRIPT_CAPACITY = 24, SCRIPT_ROUNDS = 3 };

/* Slots that there may ever be: with slack for four caches. */
enum { SCRIPT_CACHES = 4, SCRIPT_ROOM = SCRIPT_CAPACITY + SCRIPT_CACHES * SCRIPT_ROUNDS };

struct script;

/* The ways to take a slot and to give one back. */
struct script_door {
    void *(*take)(struct script *script);
    void (*give)(struct script *script, void *slot);
    void (*flush)(struct script *script);
};

struct script {
    cpool_t *pool;
    size_t capacity;
    cpool_cache_t *cache; /* of no thread's */
    const struct script_door *door;
    void *live[SCRIPT_ROOM];
    size_t count;
    void *more[SCRIPT_ROOM]; /* live, too: the forking thread's */
    size_t more_count;
    /* Its present operation. */
    void *freeing; /* live or free, unknown */
    bool taking;
    bool inside; /* the thread that vanishes has slots in its hands */
};

/* A thread's cache, one of no thread's, the depot. */
enum { SCRIPT_DOORS = 3 };
extern const struct script_door script_doors[SCRIPT_DOORS];

/* The kinds of pools that matter here. */
enum { SCRIPT_KINDS = 3 };
extern const unsigned script_kinds[SCRIPT_KINDS];

/* Makes a pool, in which the worker has a cache, and so never has to take the
 * library's lock, for which a fork would wait. */
void script_init(struct script *script, unsigned flags, size_t capacity,
                 const struct script_door *door, struct worker *worker);

/* Takes n slots, all of which must be there.  Frees the n taken last. */
void script_take(struct script *script, size_t n);
void script_give(struct script *script, size_t n);

/* Takes a slot, frees it, and flushes the cache, for workers. */
void script_begin(void *script);

/* Runs the body in a forked child, and fails if it does not come to its end. */
void script_fork(void (*body)(void *argument), void *argument);

/*
 * ---- What the child finds ------------------------------------------------
 */

/* Whether some operation on the pool is under way. */
bool script_is_inside(const cpool_t *pool);

/* No thread has a hand in any cache any more. */
void script_require_no_hands(const cpool_t *pool);

/* Takes all that can be had beside the live slots, each slot once.  Returns how many
 * those are. */
size_t script_take_rest(struct script *script, void **slots);

/* Requires that all slots and magazines are found, each once, except for so
 * many.  Frees the live slots. */
void script_require_whole(struct script *script, size_t lost_slots, size_t lost_magazines);

#endif /* CPOOL_TESTS_SCRIPT_H */
