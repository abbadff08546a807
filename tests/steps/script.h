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

enum { SCRIPT_CAPACITY = 24, SCRIPT_ROUNDS = 3, SCRIPT_CACHES = 6 };

/* The most that is out of reach while a thread is stopped inside: its loaded magazine and two in
 * its hands, or, by the inline path, the loaded one. */
enum { SCRIPT_HANDS = 3 };

struct script;

/* The ways to take a slot and to give one back. */
struct script_door {
    void *(*take)(struct script *script);
    void (*give)(struct script *script, void *slot);
    void (*flush)(struct script *script);
    unsigned flags; /* of the pool */
    bool typed;     /* the pool is */
};

struct script {
    cpool_t *pool;
    size_t capacity;
    cpool_cache_t *cache; /* of no thread's */
    const struct script_door *door;
    void *live[SCRIPT_CAPACITY];
    size_t count;
    void *more[SCRIPT_CAPACITY]; /* live, too: the other thread's */
    size_t more_count;
    /* Its present operation. */
    void *freeing; /* live or free, unknown */
    bool taking;
    size_t hands; /* magazines that a thread that stands still may have out of reach */
};

/* By the inline path where there is one, each access of which is a step: a thread's cache by the
 * pool's descriptor, one of no thread's, a typed pool's, the first two with entries that are
 * hidden, the depot. */
enum { SCRIPT_DOORS = 6, SCRIPT_OWN = 0, SCRIPT_CACHE = 1, SCRIPT_HIDDEN = 3 };
extern const struct script_door script_doors[SCRIPT_DOORS];

/* Makes a pool, in which the worker has a cache, and so never has to take the
 * library's lock, for which a fork would wait. */
void script_init(struct script *script, size_t capacity, const struct script_door *door,
                 struct worker *worker);

/* Takes n slots, all of which must be there.  Frees the n taken last. */
void script_take(struct script *script, size_t n);
void script_give(struct script *script, size_t n);

/* Takes a slot, frees it, and flushes the cache, for workers. */
void script_begin(void *script);

/* Across the edges of magazines in both directions, with spares full and empty, and with the
 * partial magazine, and at last frees all.  Takes what it can have, for workers. */
void script_play(void *script);

/* Hands out all slots once. */
void script_use_up_fresh(struct script *script);

/* As a dry alloc leaves the pool: all entries are closed.  Nothing else is changed. */
void script_close_entries(struct script *script);

/* Takes what can be had beside the live slots, each slot once, into the script's `more`. */
void script_take_more(struct script *script);
void script_give_more(struct script *script);

/* Runs the body in a forked child, and fails if it does not come to its end. */
void script_fork(void (*body)(void *argument), void *argument);

/* --- What the child finds --- */

/* The magazines that operations under way may have out of reach. */
size_t script_count_hands(const cpool_t *pool);

/* How many slots beside those may be in none of the places: one on its way to the caller or from
 * it. */
size_t script_in_transit(const struct script *script);

/* No thread has a hand in any cache any more. */
void script_require_no_hands(const cpool_t *pool);

/* Takes all that can be had beside the live slots, each slot once.  Returns how many
 * those are. */
size_t script_take_rest(const struct script *script, void **slots);

/* Requires that all slots and magazines are found, each once, except for so
 * many.  Frees the live slots. */
void script_require_whole(struct script *script, size_t lost_slots, size_t lost_magazines);

/* That nothing is lost, and ends the pool. */
void script_fini(struct script *script);

#endif /* CPOOL_TESTS_SCRIPT_H */
