/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool.h - the parts of a pool.
 *
 * doc/DESIGN.md, "A pool's memory", shows how they lie in one range of memory.
 *
 * ORDERING TABLE
 *   opened | typed pool pointer load | acquire | typed.c's open | origin, and all of the pool
 */
#ifndef CPI_POOL_H
#define CPI_POOL_H

#include <cpool.h>
#include <cpool/client.h>

#include "base/atomic.h"
#include "process/descriptor.h"
#include "cache/registry.h"
#include "track/words.h"
#include "wait/waiters.h"

/* Bytes of a pool's name, including the zero byte. */
#define CPI_NAME_SIZE 32

struct cpi_pool {
    cpool_t *handle; /* constant: allocs and frees go through it */
    cpool_t *face;   /* constant: the handle that is shown; the same as `handle` without a client */
    struct cpool_typed *typed; /* NULL unless this is a typed pool, and its program is loaded */

    _Atomic uint64_t growths;
    _Atomic uint64_t calls; /* requests to the operating system, but for those of extents, and
                               for barriers */
    struct cpi_slab slab;
    struct cpi_depot depot;
    struct cpi_registry registry;
    _Alignas(CPI_LINE) struct cpi_waiters waiters;

    /* Constant. */
    bool checked;
    unsigned tools; /* the tools that it is announced to (build.c) */
    struct cpi_slotmap map; /* its words are NULL in pools without words of slots */

    struct cpi_samples *samples; /* constant: NULL unless slots are sampled (check/samples.h) */

    /* Used by frame.c, which programs without frames do not link.  NULL while there are none.  Set
     * with the lock held. */
    struct cpi_frames *_Atomic frames;
    void (*end_frames)(struct cpi_pool *pool);

    /* Counts of live slots, at exchanges with the depot. */
    _Atomic uint64_t peak;
    _Atomic uint64_t sum;
    _Atomic uint64_t counts; /* how many */

    /* The mark of cpool_set_pressure.  Written with the lock held. */
    _Atomic size_t pressure_slots; /* a copy of those in `pressure`; 0: there is no mark */
    _Atomic bool pressure_armed;   /* its function is called at the mark */
    _Atomic uint32_t uncached;     /* allocs without a cache since, for counts */
    cpool_pressure_t pressure;

    const cpool_client_t *client; /* constant: the owner of the slots (client.c), or NULL */

    _Atomic uint64_t failures; /* calls that got fewer slots than they asked for */
    _Atomic uint64_t stalls; /* of them, those that gave up waiting for a preempted thread */

    /* Constant. */
    char name[CPI_NAME_SIZE];
    unsigned flags; /* of the configuration, with those of CPOOL_OPTIONS */
    uint64_t stall_limit_ns; /* nanoseconds that an alloc waits for a preempted thread */
    size_t region_size; /* bytes of its whole range of memory, which begins with this structure */
    bool region_owned;  /* the library commits and releases it */
    uint64_t number;    /* the pool's serial number */
};

/* Whether allocs and frees only pop and push a slot: the pool is neither tracked nor checked, and
 * no tool knows it. */
static inline bool cpi_pool_is_plain(const struct cpi_pool *pool)
{
    return pool->registry.inline_path;
}

/* typed.c.  The handle of a typed pool, or NULL.  cpi_typed_set sets it, with the lock held. */
static inline cpool_t *cpi_typed_opened(const struct cpool_typed *typed)
{
    return (cpool_t *)cpi_word_load((const uintptr_t *)(const void *)&typed->pool,
                                    acquire); /* [opened] */
}
void cpi_typed_set(struct cpool_typed *typed, struct cpi_pool *pool);

/* build.c.  Commits the memory of the first `run` slots, and makes the first `end` resident.  False
 * if the system has no memory. */
bool cpi_pool_provide(struct cpi_pool *pool, uintptr_t run, uintptr_t end);

/* build.c.  Makes the face of a client's pool point to this client, or to none.  With the lock
 * held. */
void cpi_client_set_owner(const struct cpi_pool *pool, const cpool_client_t *client);

/* frame/.  Removes the slot that was recorded last from a frame, or returns NULL.  For the
 * owner. */
struct cpool_frame;
void *cpi_frame_take_back(struct cpool_frame *frame);

/* frame/.  Calls the function for each open frame of a pool, while nobody uses the pool. */
void cpi_frame_each(const cpool_t *pool, void (*visit)(struct cpool_frame *frame, void *arg),
                    void *arg);

/* The list of the clients that are shown (pools.c), and the number that the next pool or client
 * gets (build.c).  Guarded by the lock. */
extern cpool_client_t *cpi_clients;
extern uint64_t cpi_pools_created;

/* stats.c.  Adds to the number of requests to the operating system. */
void cpi_pool_note_calls(struct cpi_pool *pool, uint64_t calls);

/* A pool's figures, with those of its mechanism, which are only printed. */
struct cpi_figures {
    cpool_stats_t stats;
    size_t in_depot;        /* free slots in the depot */
    size_t in_caches;       /* free slots in the caches */
    size_t fresh;           /* slots never handed out */
    size_t magazine_rounds; /* slots in a full magazine */
    size_t magazines;       /* magazines made so far */
    size_t caches;          /* caches registered now */
    size_t spare_limit;     /* spare magazines that they may hold */
    uint64_t exchanges;     /* magazines exchanged with the depot so far */
    uint64_t growths;       /* times the capacity was raised */
    uint64_t registrations; /* caches registered so far */
};

/* A copy of a pool's name and figures. */
struct cpi_view {
    cpool_view_t public; /* the first member */
    struct cpi_figures figures;
    char name[CPI_NAME_SIZE];
};

/* pools.c.  Reads the pool of a descriptor.  Returns false if there is no pool.  May block. */
bool cpi_view_read(struct cpi_view *view, size_t number);

/* Reads the figures.  With the lock held. */
void cpi_pool_figures(struct cpi_pool *pool, struct cpi_figures *figures);

/* --- The life of a pool ---
 *
 * create is cpool_create, for a client unless that is NULL. build makes a pool, in its own memory
 * or the caller's, and gives it a handle.  It takes the lock unless the caller holds it.  Both
 * return 0 or a code. withdraw, with the lock held and after the caches have been ended, takes the
 * handle back. release frees the memory of a pool without a handle. */
int cpi_pool_create(cpool_t **pool, const cpool_config_t *config, const cpool_client_t *client);
int cpi_pool_build(struct cpi_pool **pool, const cpool_config_t *config,
                   const cpool_client_t *client);
void cpi_pool_withdraw(struct cpi_pool *pool);
void cpi_pool_release(struct cpi_pool *pool);

/* destroy.c.  Two steps of a reset and of the end, while no thread uses the pool. stop searches for
 * damage, takes the lock, and returns the number of live slots.  If the number is negative, it is
 * the number of live slots minus the number of double frees.  After the lock has been released,
 * judge_live returns the number of live slots for the user, and reports a negative number. */
int64_t cpi_pool_stop(struct cpi_pool *pool, const char *function, int *damage);
size_t cpi_pool_judge_live(const struct cpi_pool *pool, int64_t counted, const char *function);

#endif /* CPI_POOL_H */
