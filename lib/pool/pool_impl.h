/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_impl.h - what a pool is made of.
 *
 * No file of the folders before this one knows `struct
 * cpi_pool`.
 *
 * One range of memory, from the operating system or from the caller:
 *
 *   +----------+--------+-----------+------------+--------+------+------+---------------+------+
 *   | pool,    | caches | magazines | magazines  | words, | trap | lead | slot 0, 1 ... | trap |
 *   | places   |        | for slots | for caches | guards |      |      |               |      |
 *   +----------+--------+-----------+------------+--------+------+------+---------------+------+
 *
 * The places are those of uncached operations.  A trap is a unit of addresses that is never
 * committed.  There is none in a caller's memory.
 *
 * Parts start at multiples of `unit`: the page size, so that each can be
 * committed as it is needed, or CPOOL_MEMORY_ALIGN in a caller's memory.  Words of
 * slots exist in tracked and checked pools, guards of slots in checked ones.
 *
 * ORDERING TABLE
 *   gate   | gate load               | acquire | pool_lease.c's wrap | the leases that the new
 *                                                                    gate asks
 *   opened | typed pool pointer load | acquire | pool_typed.c's open | origin, and all of the pool
 *
 * [gate] The gate of a pool changes when its first lease begins.  A thread that frees a slot of
 * a lease has learnt of the slot by synchronisation after that, so it meets the new gate.
 */
#ifndef CPI_POOL_IMPL_H
#define CPI_POOL_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <pthread.h>
#include <stdint.h>

#include <cpool.h>
#include <cpool/lease.h>
#include <cpool/events.h>
#include <cpool/pools.h>

#include "base/atomic.h"
#include "store/depot.h"
#include "fallback/fallback.h"
#include "host/handle.h"
#include "lease/lease.h"
#include "wait/queue.h"
#include "cache/registry.h"
#include "store/slab.h"
#include "track/slotmap.h"
#include "base/text.h"
#include "pool/way.h"
#include "check/guard.h"
#include "check/log.h"
#include "check/quarantine.h"

/* How long a thread that waits may be overtaken by those that run, nanoseconds. */
#define CPI_STARVING_AFTER 1000000u

/* Threads that wait for a slot: see pool_wait.h. */
struct cpi_waiters {
    struct cpi_queue queue; /* its word is read before and after each free */
    _Atomic uint64_t waits; /* that ever slept */
    pthread_mutex_t lock;   /* the queue's */
    uint64_t starving_after; /* constant: CPI_STARVING_AFTER, but in tests */
    /* Guarded by the lock: */
    struct cpi_waiter bell; /* waits on behalf of cpool_alloc_or_notify */
    bool bell_waits;        /* it is in the queue */
    bool bell_owed;         /* and a call has returned NULL since it joined */
    unsigned bell_looks;    /* calls that have announced it and are still looking */
    bool closed;            /* cpool_wake_all: nobody waits any more */
    uint32_t dismissals;    /* calls of cpool_wake_all */
    cpool_ready_t ready;    /* called when the bell is, or NULL */
    void *ready_context;
};

/* The counts of growing, trimming and shrinking. */
struct cpi_maintenance {
    _Atomic uint64_t growths;
    _Atomic uint64_t trims;
    _Atomic uint64_t calls; /* requests to the operating system, but for those of extents, and
                               for barriers */
};

/* The layer to which the slots belong, if there is one. */
struct cpi_layer {
    unsigned kind;         /* constant: CPOOL_VIEW_OBJECTS ..., or 0 for none */
    _Atomic(void *) owner; /* the layer's own pool, or NULL until that is complete */
};

/* The leases of a pool, in memory of their own from the first one on. */
struct cpi_leases {
    size_t size; /* bytes of all this, and of what `caches` points to */
    struct cpi_leased *caches; /* one for each structure of a cache */
    struct cpi_lease lease[CPOOL_LEASES_MAX];
    const struct cpi_gate *passed; /* the pool's own gate, or NULL */
    struct cpi_gate gate;          /* replaces it */
    _Atomic uint64_t leased[];     /* in pools with a gate a bit for each slot */
};

/* Bytes of a pool's name, with its end. */
#define CPI_NAME_SIZE 32

/* Live slots, counted at exchanges with the depot: see pool_info.c. */
struct cpi_usage {
    _Atomic uint64_t peak;   /* the most that were counted */
    _Atomic uint64_t sum;    /* of all counts */
    _Atomic uint64_t counts; /* how many */
};

struct cpi_pool {
    cpool_t *handle; /* constant: the way to slots */
    cpool_t *face;   /* constant: the one that is shown, `handle` without a layer */
    struct cpool_typed *typed; /* constant: NULL unless the pool is a typed one */
    struct cpi_slab slab;
    struct cpi_slotmap slotmap; /* of tracked pools */
    struct cpi_depot depot;
    struct cpi_registry registry;

    /* NULL in plain pools.  Replaced with the lock held, when the first lease begins. */
    const struct cpi_gate *_Atomic gate;

    /* Constant. */
    const struct cpi_way *way;
    bool checked;
    unsigned tools; /* that it is announced to: see pool_tools.c */
    bool fills;   /* freed slots: checked pools */
    bool shows_typed; /* in the threads' entries of `typed` */
    bool grows; /* by itself */
    struct cpi_fallback *fallback; /* or NULL */

    /* Waiting: see pool_wait.c. */
    struct cpi_waiters waiters;

    /* Growing and giving back: see pool_memory.c. */
    struct cpi_maintenance maintenance;

    /* Of checked pools that ask for them. */
    struct cpi_log log;
    struct cpi_quarantine quarantine;
    struct cpi_leases *_Atomic leases; /* NULL until there is one.  Set with the lock held */

    struct cpi_usage usage;

    struct cpi_layer layer; /* see pool_layer.c */

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
    bool nested;        /* it lies in a slot of another pool */
};

/*
 * pool_tools.c.  Whether a tool would watch the bytes of a pool in memory of its own.
 * begin decides which tools a pool is announced to, before it has slots out.  reset and
 * end tell that all slots are free, or are nobody's.  While nobody else uses the pool.
 */
bool cpi_pool_is_watched(const cpool_config_t *config);
void cpi_pool_tools_begin(struct cpi_pool *pool);
void cpi_pool_tools_reset(const struct cpi_pool *pool);
void cpi_pool_tools_end(const struct cpi_pool *pool);

/* Has a tool that can look for slots that are live and that nothing points to. */
void cpi_pool_tools_find_leaks(struct cpi_pool *pool);

/*
 * pool_fallback.c.  add completes a pool that was built.  It returns 0 or CPOOL_ENOMEM.
 * of_block returns the pool of a live block, or NULL.
 */
int cpi_pool_add_fallback(struct cpi_pool *pool, const cpool_config_t *config);
void cpi_pool_end_fallback(struct cpi_pool *pool);
cpool_t *cpi_pool_of_block(const void *block);

/* pool_typed.c.  The pool of a typed pool, or NULL, and the reverse, with the lock held. */
static inline cpool_t *cpi_typed_opened(const struct cpool_typed *typed)
{
    return (cpool_t *)cpi_word_load((const uintptr_t *)(const void *)&typed->pool,
                                    acquire); /* [opened] */
}
void cpi_typed_set(struct cpool_typed *typed, struct cpi_pool *pool);

/* Returns true if every magazine is in at most one place, and as full as it must be
 * there.  For an assertion, at the end of a pool.  Nobody may be using the pool, and
 * nobody may after. */
bool cpi_pool_audit(const struct cpi_pool *pool);

/* The way of pools that are tracked and nothing else. */
extern const struct cpi_way cpi_track_way;

/* The gates of features.  With the last one slots have no words. */
extern const struct cpi_gate cpi_track_gate;
extern const struct cpi_gate cpi_check_gate;
extern const struct cpi_gate cpi_check_gate_with_quarantine;
extern const struct cpi_gate cpi_tools_gate;

/* Every slot becomes free, in a pool with words.  Nobody else may be using the pool. */
void cpi_track_reset(struct cpi_pool *pool);

/* A pool's gate, or NULL, and whether that lets a slot pass that was obtained. */
static inline const struct cpi_gate *cpi_pool_gate(const struct cpi_pool *pool)
{
    return cpi_load(&pool->gate, acquire); /* [gate] */
}

static inline bool cpi_pool_passes(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    const struct cpi_gate *gate = cpi_pool_gate(pool);

    return CPI_LIKELY(gate == NULL) || gate->taken(pool, slot, call);
}

/*
 * pool_quarantine.c.  put_off is the free of a pool with a quarantine.  end_quarantine
 * gives the slot that has waited longest to the depot.  It returns false if none waits.
 * Both are lock-free, but for put_off in a waitable pool, which may block.
 */
void cpi_pool_put_off(struct cpi_pool *pool, void *slot);
bool cpi_pool_end_quarantine(struct cpi_pool *pool);

/* Looks at the gaps of slots of a checked pool, and at those that are free and filled,
 * from one index to before another, beside threads that use the pool.  Reports each
 * damage, and returns how many there were.  Takes the lock. */
size_t cpi_pool_verify_all(const struct cpi_pool *pool, uintptr_t index, uintptr_t end,
                           const char *function);

/* The same for one address, which need not be a slot's.  Returns 0 or the code that was
 * reported. */
int cpi_pool_verify_one(struct cpi_pool *pool, const void *slot, const char *function);

/* pool_memory.c.  Raises the capacity if every slot has been handed out and it
 * may grow.  Returns true if there is more now.  Lock-free. */
bool cpi_pool_grow_by_itself(struct cpi_pool *pool);

void cpi_maintenance_init(struct cpi_maintenance *maintenance);

/* Counts so many requests to the operating system. */
void cpi_pool_note_calls(struct cpi_pool *pool, uint64_t calls);

/* pool_wait.c.  The way of waitable pools, and their queue. */
extern const struct cpi_way cpi_wait_way;
void cpi_waiters_init(struct cpi_waiters *waiters);
void cpi_waiters_fini(struct cpi_waiters *waiters);

/* pool_lease.c.  Ends all leases, after their caches.  With the lock held, while no thread uses the
 * pool. */
void cpi_pool_end_leases(struct cpi_pool *pool);

/* pool_debug.c.  Writes the list of live slots of a checked pool to standard error.
 * Allocates nothing. */
void cpi_pool_write_live(const struct cpi_pool *pool);

#endif /* CPI_POOL_IMPL_H */
