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

/* build.c.  The face of a client's pool leads to this client from now on, or to none.  With the
 * lock held. */
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

/* A copy of a pool's name and figures. */
struct cpi_view {
    cpool_view_t public;
    cpool_stats_t stats;
    char name[CPI_NAME_SIZE];
};

/* pools.c.  Reads the pool of a descriptor.  Returns false if there is none.  May block. */
bool cpi_view_read(struct cpi_view *view, size_t number);

/* Reads the figures, with the lock held. */
void cpi_pool_figures(struct cpi_pool *pool, cpool_stats_t *stats);

/* --- The life of a pool ---
 *
 * create is cpool_create for a client, or for none: NULL.  build makes a pool in memory of its own
 * or of the caller's.  Both return 0 or a code.  publish gives it a handle, by which it can be
 * used, with the lock held.  Returns 0, CPOOL_EPOOLS if none is left, or CPOOL_ENOMEM.  withdraw
 * takes the handle back, with the lock held and the caches ended.  release gives the memory of a
 * pool without a handle back.  next_number counts pools, with the lock held. */
int cpi_pool_create(cpool_t **pool, const cpool_config_t *config, const cpool_client_t *client);
int cpi_pool_build(struct cpi_pool **pool, const cpool_config_t *config);
int cpi_pool_publish(struct cpi_pool *pool);
void cpi_pool_withdraw(struct cpi_pool *pool);
uint64_t cpi_pool_next_number(void);
void cpi_pool_release(struct cpi_pool *pool);

/*
 * destroy.c.  Steps of a reset and of the end, in this order, while no thread uses the pool.
 * stop looks for damage, takes the lock, and returns how many slots are live.  A count below zero
 * is the number of double frees, less that of the slots still live.
 * After the lock is released, judge_live returns the number of live slots for the user, and
 * reports a count below zero.
 */
int64_t cpi_pool_stop(struct cpi_pool *pool, const char *function, size_t *damages);
size_t cpi_pool_judge_live(const struct cpi_pool *pool, int64_t counted, const char *function);

#endif /* CPI_POOL_H */
