/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.h - a pool under test, the book of its slots, and the audit of what is left when its
 * threads have gone.
 *
 * Includes stamp.h.
 */
#ifndef STRESS_ARENA_H
#define STRESS_ARENA_H

#include "stamp.h"

#include <cpool.h>

#include "../tests/harness/figures.h"

struct arena {
    cpool_t *pool;
    struct stamp_book book;
    size_t capacity;
    size_t rounds;     /* in a full magazine */
    size_t slot_size;
    size_t users;      /* threads and explicit caches at a time, including the main thread's */
    size_t indices;    /* that a slot can have: more than the capacity if the pool may grow */
    bool checked;
    bool moving;       /* the capacity changes while it is used */
    bool ample;        /* bags take a fair share each, so that the pool is never dry */
    void *memory;      /* caller-provided memory, or NULL */
};

/*
 * The sizes of the pools that arena_draw draws.
 *
 * ARENA_TIGHT   1 to 200 slots: dry and refilled all the time, few magazines,
 *               so that the same ones circulate among the threads
 * ARENA_ROOMY   200 to 20,000 slots
 * ARENA_BUSY    64 to 192 small slots, one or two rounds in a magazine.  A thread takes
 *               and gives several times its cache at a time, and with `ample` set there
 *               is enough for all.  So nearly every operation pops from or pushes to
 *               the depot's stacks, where the same few magazines come back at once.
 *               The hardest test of the stacks' tags
 */
enum arena_room { ARENA_TIGHT, ARENA_ROOMY, ARENA_BUSY };

/* A random configuration: slot sizes from 1 byte, odd strides, alignments and offsets, magazines of
 * one round and of many, few caches and enough. */
cpool_config_t arena_draw(uint64_t *random, enum arena_room room);

/* The size of a pool for a mode whose threads all do the same. */
enum arena_room arena_draw_room(uint64_t *random);

/*
 * arena_create - creates the pool.  Ends the program if that fails.
 *
 * users    the number of threads and explicit caches at a time
 * random   decides whether the memory is the caller's; NULL: it is not
 *
 * Magazine rounds that are out of range for the capacity become 0.
 */
void arena_create(struct arena *arena, const cpool_config_t *config, size_t users,
                  uint64_t *random);

/*
 * arena_watch - the rest of arena_create, for a pool that was created in another way.
 *
 * arena    all zero except for its pool
 * config   the configuration that the pool was created with
 */
void arena_watch(struct arena *arena, const cpool_config_t *config, size_t users);

/*
 * arena_audit - the calling thread audits the pool alone.
 *
 * No other thread is using the pool, and all that did have ended.  Slots that they left live are
 * live in the book.  The audit verifies that the statistics add up, and that the rest of the
 * capacity can be allocated, every slot once, with its bytes as they were left, and then no more.
 * After freeing all, it verifies this again, or, one time in three, resets the pool, which must
 * then hand out its slots in order of address.  It adds the pool's exchanges to the tally.
 */
void arena_audit(struct arena *arena, uint64_t *random, struct tally *tally);

/* Destroys the pool, which must report as many live slots as the book has.  (The live slots of a
 * checked pool are freed before, because it would list them.) */
void arena_destroy(struct arena *arena);

/*
 * arena_stats - reads the pool's figures.  Any thread, at any time.
 *
 * Each time it verifies that no more magazines have been made than `users` can have needed at a
 * time, no matter how many threads have come and gone.
 */
struct figures arena_stats(const struct arena *arena);

#endif /* STRESS_ARENA_H */
