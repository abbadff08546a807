/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker.h - the threads of an episode, and their use of slots.
 *
 * Includes arena.h and sync.h.
 *
 * A crew is a set of workers that start together behind a barrier and end when the episode is over.
 * A worker may live several lives: each is a separate thread (worker_reborn), but the worker's
 * numbers are kept.
 */
#ifndef STRESS_WORKER_H
#define STRESS_WORKER_H

#include "arena.h"
#include "sync.h"

#include <pthread.h>

struct worker {
    /* Constant. */
    struct episode *episode;
    void *context;       /* the mode's, shared by the crew */
    unsigned int index;  /* 0 to threads - 1 */
    void (*body)(struct worker *worker);
    struct barrier *start;
    pthread_t thread;    /* the main thread's */

    /* The worker's own.  The main thread reads them when it has ended. */
    uint64_t random;
    struct stamp_owner owner;
    uint64_t operations;
    uint64_t dry;
    void (*life)(struct worker *worker); /* the routine of its present thread */
    struct barrier_seat seat;
};

/*
 * crew_run - lets the episode's threads run `body` until its time is up.
 *
 * meanwhile   what the main thread does repeatedly in the meantime, or NULL to
 *             sleep
 *
 * Returns when all threads have ended.  Their counts are in the tally.
 */
void crew_run(struct episode *episode, void (*body)(struct worker *worker), void *context,
              void (*meanwhile)(struct episode *episode, void *context));

/*
 * worker_reborn - runs `life` in a new thread and waits for its end.
 *
 * The thread may end in any way: by return, pthread_exit or cancellation.
 */
void worker_reborn(struct worker *worker, void (*life)(struct worker *worker));

/*
 * worker_took - every slot that a worker allocates goes through here: counted,
 * verified and stamped.  Returns it.  NULL counts as a dry pool.  worker_gives
 * - every slot that it frees, before it does: verified, stamped as free,
 * counted.  Returns it.  worker_adopts - a slot that another worker handed over
 * live.
 */
void *worker_took(struct worker *worker, struct arena *arena, void *slot);
void *worker_gives(struct worker *worker, struct arena *arena, void *slot);
void *worker_adopts(struct worker *worker, struct arena *arena, void *slot);

/*
 * ---- Bags: the slots of one arena that a worker holds ----------------------
 */

struct bag {
    struct arena *arena;
    void **slots;
    size_t count;
    size_t room;
    size_t target; /* the count that worker_step is heading for */
};

/* Initialises a bag for the arena.  At random, `holders` such bags are more than the arena has
 * slots for, or not.  In an ample arena they never are. */
void bag_init(struct bag *bag, struct arena *arena, uint64_t *random, size_t holders);
void bag_fini(struct bag *bag);

static inline void bag_add(struct bag *bag, void *slot)
{
    bag->slots[bag->count++] = slot;
}

/* Takes a random slot out of the bag, which must not be empty. */
void *bag_remove(struct bag *bag, uint64_t *random);

/*
 * worker_step - one allocation or free, such that the bag's count swings between none and its
 * maximum.  Now and then it verifies a slot in the bag, or tries something else: cpool_flush,
 * cpool_read_stats, or freeing an address that is not a slot.
 */
void worker_step(struct worker *worker, struct bag *bag);

/* Frees everything in the bag. */
void worker_empty(struct worker *worker, struct bag *bag);

/* Frees everything, or, one time in eight, leaves it live for the audit to find. */
void worker_leave(struct worker *worker, struct bag *bag);

/*
 * worker_steps - a body for crew_run: steps with one bag of the worker's context, which is an
 * arena, until the episode is over.
 */
void worker_steps(struct worker *worker);

#endif /* STRESS_WORKER_H */
