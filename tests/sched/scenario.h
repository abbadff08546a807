/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scenario.h - what the explorer's threads do.
 *
 * A scenario gives each thread a program: a string of operations of one letter,
 * which mean what its kind says.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <stddef.h>

#include "explorer.h"

struct scenario;

/* The meaning of the letters. */
struct kind {
    void (*open)(const struct scenario *scenario); /* before each run */
    void (*step)(unsigned thread, char operation);
    void (*end)(unsigned thread); /* after the thread's last step */
    void (*close)(void);          /* after each run: the final audit */
};

struct scenario {
    const char *name;
    const struct kind *kind;
    unsigned bound;  /* costly decisions in the exhaustive exploration */
    size_t capacity; /* nodes, or slots */

    /* Of a pool. */
    size_t rounds;
    size_t cache_slots;   /* 0: one spare */
    size_t thread_caches; /* 0: enough */
    unsigned flags;
    bool fair;       /* a waiter starves at once; else it never does */
    size_t later;    /* slots of the capacity that are there only after a 'G' */

    const char *programs[EXPLORER_THREADS_MAX];
};

/*
 * A tagged stack alone.  All nodes are on it in the beginning.
 *   o   pop a node and own it
 *   u   push the node that has been owned longest
 */
extern const struct kind stack_kind;

/*
 * A pool.
 *   a A   allocate a slot, by the inline path, without a cache
 *   f F   free the slot that has been held longest, through the cache, without
 *   b B   allocate three slots at once, or free all that are held at once
 *   l     flush the cache
 *   s     sleep, outside the library, until all others sleep or have come to their end.
 *         Their findings then depend on this thread's cache
 *   p g   put the slot held longest into the mailbox, or get one out of it
 *   k     fork, with an audit in the child
 *   w W   wait for a slot, without end, or for some time
 *   z y   step aside until a waiter sleeps, or once at most
 *   N     allocate without the cache, in vain if a waiter sleeps that the slot belongs to
 *   C X   free the slot held longest into an explicit cache, or destroy that cache
 *   T U   as a and f, by the functions of a typed pool.  The scenario's pool is one then
 *   t G   trim, or grow by what the scenario left for later
 *   H     free the lowest slot that is held, and shrink by one
 */
extern const struct kind pool_kind;

/*
 * Tracked pools.
 *   a f F   as of a pool
 *   2       free the slot that is common to all threads, of which one may
 *   r       resolve the handle of that slot
 *   v       visit all live slots
 */
extern const struct kind tracked_kind;

/*
 * Sections, and retired slots.
 *   b q e   begin a section and find the slot that is shown, begin the next one in a quiescent
 *           state, end it
 *   r       show another slot, or none if the pool is dry, and retire the one that was shown
 *   l w     flush the reader, or wait until all that it has retired is free
 */
extern const struct kind retire_kind;

#endif /* SCENARIO_H */
