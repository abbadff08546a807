/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool.h - what a pool is made of.
 *
 * No file of the folders before this one knows `struct
 * cpi_pool`.
 *
 * One range of memory, from the operating system or from the caller:
 *
 *   +----------+--------+-----------+------------+--------+------+------+---------------+------+
 *   | pool,    | caches | magazines | magazines  | words, | trap | lead | slot 0, 1 ... | trap |
 *   | parts    |        | for slots | for caches | guards |      |      |               |      |
 *   +----------+--------+-----------+------------+--------+------+------+---------------+------+
 *
 * The parts are those of some pools alone.  A trap is a unit of addresses that is never
 * committed.  There is none in a caller's memory.
 *
 * Parts start at multiples of `unit`: the page size, so that each can be
 * committed as it is needed, or CPOOL_MEMORY_ALIGN in a caller's memory.  Words of
 * slots exist in tracked and checked pools, guards of slots in checked ones.
 *
 * ORDERING TABLE
 *   opened | typed pool pointer load | acquire | typed.c's open | origin, and all of the pool
 */
#ifndef CPI_POOL_H
#define CPI_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cpool.h>
#include <cpool/client.h>

#include "base/atomic.h"
#include "depot/depot.h"
#include "process/descriptor.h"
#include "cache/registry.h"
#include "depot/slab.h"
#include "base/error.h"
#include "track/words.h"
#include "wait/waiters.h"

/* The counts of growing, trimming and shrinking. */
struct cpi_maintenance {
    _Atomic uint64_t growths;
    _Atomic uint64_t trims;
    _Atomic uint64_t calls; /* requests to the operating system, but for those of extents, and
                               for barriers */
};

/* Bytes of a pool's name, with its end. */
#define CPI_NAME_SIZE 32

/* Live slots, counted at exchanges with the depot: see stats.c. */
struct cpi_usage {
    _Atomic uint64_t peak;   /* the most that were counted */
    _Atomic uint64_t sum;    /* of all counts */
    _Atomic uint64_t counts; /* how many */
};

struct cpi_pool {
    cpool_t *handle; /* constant: the way to slots */
    cpool_t *face;   /* constant: the one that is shown, `handle` without a client */
    struct cpool_typed *typed; /* NULL unless the pool is typed, and its program there */

    /* Growing and giving back: see alloc.c and memory.c. */
    struct cpi_maintenance maintenance;
    struct cpi_slab slab;
    struct cpi_depot depot;
    struct cpi_registry registry;
    _Alignas(CPI_LINE) struct cpi_waiters waiters;

    /* Constant. */
    bool checked;
    unsigned tools; /* that it is announced to: see announce.c */
    struct cpi_slotmap map; /* its words are NULL in pools without a word for each slot */

    /* See frame.c, which a program without frames does not carry.  NULL while there are none, and
     * set with the lock held. */
    struct cpi_frames *_Atomic frames;
    void (*end_frames)(struct cpi_pool *pool);

    uintptr_t *origin; /* the slab's, to a program that was parted from the pool, or NULL */

    struct cpi_usage usage;

    const cpool_client_t *client; /* constant: whose the slots are (client.c), or NULL */

    _Atomic uint64_t stalls; /* allocs that gave up waiting for a stopped thread */

    /* Constant again. */
    char name[CPI_NAME_SIZE];
    unsigned flags; /* those of memory, too: no bit is a flag of both */
    uint64_t stall_limit; /* nanoseconds that an alloc waits for a stopped thread */
    void *region;       /* all of it */
    size_t region_size; /* bytes */
    size_t fixed_bytes; /* of it, bytes committed at creation */
    bool region_owned;  /* committed, and given back, by the library */
    uint64_t number;    /* pools created before it */
};

/* Whether nothing is to be done for a slot but to pop or to push it: the pool is neither tracked
 * nor checked, and no tool knows it. */
static inline bool cpi_pool_is_plain(const struct cpi_pool *pool)
{
    return pool->registry.inline_path;
}

/* typed.c.  The pool of a typed pool, or NULL, and the reverse, with the lock held. */
static inline cpool_t *cpi_typed_opened(const struct cpool_typed *typed)
{
    return (cpool_t *)cpi_word_load((const uintptr_t *)(const void *)&typed->pool,
                                    acquire); /* [opened] */
}
void cpi_typed_set(struct cpool_typed *typed, struct cpi_pool *pool);

/* handles.c.  The descriptors of a pool: its own, and its face.  take returns false if none is
 * left.  open has addresses lead to the face, and set_owner the face to a client or to none.  With
 * the lock held. */
bool cpi_client_take_handles(struct cpi_pool *pool);
void cpi_client_give_handles(const struct cpi_pool *pool);
void cpi_client_open_handles(struct cpi_pool *pool);
void cpi_client_close_handles(struct cpi_pool *pool);
void cpi_client_set_owner(const struct cpi_pool *pool, const cpool_client_t *client);

/* frame/.  Takes the slot that was recorded last off a frame, or returns NULL.  The owner. */
struct cpool_frame;
void *cpi_frame_take_back(struct cpool_frame *frame);

/* frame/.  Calls the function with each open frame of a pool, while nobody uses the pool. */
void cpi_frame_each(const cpool_t *pool, void (*visit)(struct cpool_frame *frame, void *arg),
                    void *arg);

/* pools.c.  The clients that are shown, in that order.  Guarded by the lock. */
extern cpool_client_t *cpi_clients;

/* stats.c.  Counts so many requests to the operating system. */
void cpi_pool_note_calls(struct cpi_pool *pool, uint64_t calls);

#endif /* CPI_POOL_H */
