/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crew.h - what the tests of recall share: pools of every kind, with the
 * kernel's barrier and without, and threads that take turns and sleep in
 * between, with whatever is in their caches.
 *
 * Includes growth.h.  Its source calls the library's modules, to see which
 * barrier was chosen, so programs that use it link the convenience library.
 */
#ifndef CPOOL_TESTS_CREW_H
#define CPOOL_TESTS_CREW_H

#include "growth.h"

enum { CREW_MAX = 8, CREW_SLOT_SIZE = 16 };

/* --- Kinds of pools --- */

/* Each kind of growth.h's, with either barrier. */
enum { CREW_VARIANTS = 2 * GROWTH_KINDS };

/* A pool in which all threads of a crew, and as many others, may have caches.
 * rounds is as in cpool_config_t. */
cpool_t *crew_create(unsigned flags, size_t capacity, size_t rounds);

/* Requires that this thread, alone, can have the capacity and no more.  Gives it back. */
void crew_require_obtainable_here(cpool_t *pool);

/* Runs the body in a child in which the kernel refuses its barrier.  Does not
 * run it where nothing can be refused. */
void crew_without_barrier(void (*body)(void *argument), void *argument);

/* Runs the body with the flags of one of CREW_VARIANTS: of each kind with one
 * barrier, then of each with the other. */
void crew_run_variant(int variant, void (*body)(unsigned flags));

/* --- Threads that take turns --- */

struct member {
    struct worker *worker;
    struct hold hold;
    size_t wanted;
    size_t got;
};

struct crew {
    cpool_t *pool;
    size_t count;
    struct member members[CREW_MAX];
};

/* The workers stay the caller's. */
void crew_init(struct crew *crew, struct worker **workers, size_t count, cpool_t *pool);
void crew_fini(struct crew *crew);

/* Lets a member take up to so many slots, and returns how many it got.  Lets it
 * give all back. */
size_t crew_take(struct member *member, size_t wanted);
void crew_give(struct member *member);

/* One after the other takes all that there is and gives it back. */
void crew_fill_caches(struct crew *crew);

#endif /* CPOOL_TESTS_CREW_H */
