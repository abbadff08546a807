/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.h - a pool under test, with the book of its slots, and the audit of
 * what is left when its threads have gone.
 *
 * Includes stamp.h.
 */
#ifndef STRESS_ARENA_H
#define STRESS_ARENA_H

#include "stamp.h"

#include <cpool.h>

struct arena {
    cpool_t *pool;
    struct stamp_book book;
    size_t capacity;
    size_t rounds;     /* in a full magazine */
    size_t slot_size;
    size_t users;      /* threads and explicit caches at once, the main thread's included */
    size_t indices;    /* that a slot can have: more than the capacity, where it may grow */
    bool checked;
    bool moving;       /* the capacity changes while it is used */
    bool ample;        /* bags take a fair share each, so that it is never dry */
    void *memory;      /* caller-provided memory, or NULL */
};

/*
 * How large the pools are that arena_draw draws.
 *
 * ARENA_TIGHT   1 to 200 slots: dry and refilled all the time, few magazines,
 *               so that the same ones go around among the threads
 * ARENA_ROOMY   200 to 20,000 slots
 * ARENA_BUSY    64 to 192 small slots, one or two rounds in a magazine.  A thread takes
 *               and gives several times its cache in one go, and with `ample` set there
 *               is enough for all.  So nearly every operation pops from or pushes to
 *               the depot's stacks, on which the same few magazines come back at once.
 *               The sharpest test of their tags
 */
enum arena_room { ARENA_TIGHT, ARENA_ROOMY, ARENA_BUSY };

/* A configuration at random: slot sizes from 1 byte, odd strides, alignments
 * and offsets, one round in a magazine and many, few caches and enough. */
cpool_config_t arena_draw(uint64_t *random, enum arena_room room);

/* The size of a pool for a mode with threads that are all alike. */
enum arena_room arena_draw_room(uint64_t *random);

/*
 * arena_create - makes the pool.  It ends the program if that fails.
 *
 * users    how many threads and explicit caches there will be at once
 * random   decides whether the memory is the caller's; NULL: it is not
 *
 * Magazine rounds that are out of range for the capacity become 0.
 */
void arena_create(struct arena *arena, const cpool_config_t *config, size_t users,
                  uint64_t *random);

/*
 * arena_watch - the rest of arena_create, for a pool that was made in another way.
 *
 * arena    zero but for its pool
 * config   the one that the pool was made from
 */
void arena_watch(struct arena *arena, const cpool_config_t *config, size_t users);

/*
 * arena_audit - the calling thread alone holds everybody to account.
 *
 * No other thread is using the pool, and all that did have ended.  Slots that
 * they left live are live in the book.  It verifies that the statistics add up,
 * and that the rest of the capacity can be had, every slot once, with its bytes
 * as they were left.  Then nothing more can be had.  After giving all back, it
 * verifies the same again.  Or, one time in three, the pool is reset, and comes
 * out in order of address.  The audited pool's exchanges are added to the
 * tally.
 */
void arena_audit(struct arena *arena, uint64_t *random, struct tally *tally);

/* Destroys the pool, which must report as many live slots as the book has.  (Of
 * a checked pool, which would list them, the live slots are freed before.) */
void arena_destroy(struct arena *arena);

/*
 * arena_stats - the pool's figures, by any thread at any time.
 *
 * Verified each time: no more magazines have been made than `users` at once can
 * have needed, however many threads have come and gone.
 */
cpool_stats_t arena_stats(const struct arena *arena);

#endif /* STRESS_ARENA_H */
