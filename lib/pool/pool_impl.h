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
 *   gate | gate load | acquire | pool_lease.c's wrap | the leases that the new gate asks
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
    bool checked;
    unsigned tools; /* that it is announced to: see pool_tools.c */
    bool fills;   /* freed slots: checked pools */
    bool shows_typed; /* in the threads' entries of `typed` */
    bool waitable;
    bool grows; /* by itself */
    bool only_marked; /* exact, and nothing else that costs time per operation */
    bool only_tracked; /* tracked, likewise */
    bool fakes; /* it hands out the fallback's blocks and, but to leases, nothing else */
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

/* Where the parts lie, bytes from the start of the region. */
struct cpi_layout {
    bool callers; /* the memory is, and it is not zero, and committed whole */
    size_t unit;
    size_t slot_size;
    size_t align;
    size_t offset;
    bool checked;
    bool fills; /* freed slots */
    size_t gap; /* guard bytes before and after each slot */
    bool tracked; /* there is a word for each slot */
    size_t frames;     /* of each call that is noted in checked pools, or 0 */
    size_t quarantine; /* places */
    size_t log;        /* entries */
    size_t stride;
    size_t capacity;
    size_t most;  /* slots that capacity may grow to */
    bool slack;   /* there may be more in circulation */
    size_t slots; /* most, and slack */
    size_t rounds;
    size_t cache_slots; /* as configured */
    size_t uncached; /* threads that may work without a cache at once */
    size_t caches;   /* how many caches */
    size_t quota;    /* spares that one cache may have */
    size_t spares;   /* and all together, beyond the first of each */
    size_t stall_ms;  /* as configured, or by default */
    size_t uncached_at;
    size_t quarantine_at;
    size_t log_at;
    size_t fixed;     /* bytes from the start to the end of what is there from the beginning */
    size_t caches_at;
    size_t for_slots_at;
    size_t for_caches_at;
    size_t words_at;
    size_t records_at;
    size_t lead_at;   /* where the slab's extent begins */
    size_t slab_size; /* its size, the longest lead included */
    size_t total;
};

/*
 * Copies the program's configuration, and the debug settings that it points to.  Returns 0 or
 * a code, as cpi_struct_read does.
 */
int cpi_pool_read_config(cpool_config_t *config, cpool_debug_t *debug,
                         const cpool_config_t *given);

/*
 * Checks a configuration and computes the layout.  `page` is the page size, or
 * 0 for memory of the caller's.  Returns 0 or the code that cpool_create is to
 * return.
 */
int cpi_layout_compute(struct cpi_layout *layout, const cpool_config_t *config, size_t page);

/* The alignment of slot + offset, bytes. */
size_t cpi_layout_align(const cpool_config_t *config);

/* The size of the pages by which a pool in uncommitted memory is laid out. */
size_t cpi_layout_page(const cpool_config_t *config);

/* The same for a pool that a tool watches: there are bytes between slots, and a word for
 * each. */
int cpi_layout_compute_watched(struct cpi_layout *layout, const cpool_config_t *config,
                               size_t page);

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
 * pool_options.c.  prepare loads what the checks need, which may allocate: without the
 * lock.  add_options adds the requests of CPOOL_OPTIONS, and returns true if that is more
 * than there was.  `debug` is where the configuration then has its debug settings.
 * tell_unchecked says on standard error that a pool has none of them, because of this code.
 * add_fallback completes a pool that was built.  It returns 0, or CPOOL_ENOMEM after it has
 * released the pool.
 */
int cpi_pool_add_fallback(struct cpi_pool *pool, const cpool_config_t *config);
void cpi_pool_end_fallback(struct cpi_pool *pool);
void cpi_pool_prepare(const cpool_config_t *config);
bool cpi_pool_add_options(cpool_config_t *config, cpool_debug_t *debug);
void cpi_pool_tell_unchecked(const cpool_config_t *config, int code);

/*
 * pool_create.c.  create is cpool_create for a layer of this kind, or for none: 0.  build makes
 * a pool in memory of its own or of the caller's.  Both return 0 or a code.  publish gives it
 * a handle, by which it can be used, with the lock held.  Returns 0,
 * CPOOL_EPOOLS if none is left, or CPOOL_ENOMEM.  release gives the memory of a pool
 * without a handle back.  next_number counts pools, with the lock held.
 */
int cpi_pool_create(cpool_t **pool, const cpool_config_t *config, unsigned layer);
int cpi_pool_build(struct cpi_pool **pool, const cpool_config_t *config);
int cpi_pool_publish(struct cpi_pool *pool);
uint64_t cpi_pool_next_number(void);
void cpi_pool_release(struct cpi_pool *pool);

/* A copy of a pool's name and figures. */
struct cpi_view {
    cpool_view_t public;
    cpool_stats_t stats;
    char name[CPI_NAME_SIZE];
};

/* pools.c.  Reads the pool of a descriptor.  Returns false if there is none.  May block. */
bool cpi_view_read(struct cpi_view *view, size_t number);

/* pools.c.  Counts a pool, if it has a fallback, in or out: by 1 or SIZE_MAX. */
void cpi_pool_count_fallback(const struct cpi_pool *pool, size_t by);

/* pool_info.c.  Reads the figures, with the lock held. */
void cpi_pool_figures(struct cpi_pool *pool, cpool_stats_t *stats);

/* pool_typed.c.  The typed pool has this pool now, or none: NULL.  With the lock held. */
void cpi_typed_set(struct cpool_typed *typed, struct cpi_pool *pool);

/*
 * The two that all public functions come down to.  cache is the calling thread's, or NULL
 * for none.  free takes any address: NULL is a no-op, a wrong one is reported.  It returns
 * true if a slot went back.
 */
void *cpi_pool_alloc(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call);

/* The same, but never a block of the fallback's. */
void *cpi_pool_alloc_slot(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call);
bool cpi_pool_free(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                   struct cpi_call call);

/* Moves slots from some cache to the depot.  False if no cache has any.  Lock-free. */
bool cpi_pool_recall(struct cpi_pool *pool, struct cpi_uncached *uncached);

/* A slot from this cache, or none, from the depot, or a fresh one, not yet marked.
 * NULL if there is none in any of these.  A block in a pool that fakes. */
void *cpi_pool_take(struct cpi_pool *pool, struct cpi_cache *cache);

/* Looks everywhere, for the owner of this cache or for a thread without one.  It does
 * not lose slots that it finds on the way.  `awaits`: while a trim or shrink has the
 * depot's magazines it waits until some are back.  Otherwise the caller waits to be
 * called. */
void *cpi_pool_look(struct cpi_pool *pool, struct cpi_cache *cache, bool awaits);

/* The same for a waiter, which waits to be called, and which takes a block of the fallback's
 * rather than wait. */
void *cpi_pool_look_waiting(struct cpi_pool *pool);

/* Returns true if every magazine is in at most one place, and as full as it must be
 * there.  For an assertion, at the end of a pool.  Nobody may be using the pool, and
 * nobody may after. */
bool cpi_pool_audit(const struct cpi_pool *pool);

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
int cpi_pool_verify_one(const struct cpi_pool *pool, const void *slot, const char *function);

/* pool_memory.c.  Raises the capacity if every slot has been handed out and it
 * may grow.  Returns true if there is more now.  Lock-free. */
bool cpi_pool_grow_by_itself(struct cpi_pool *pool);

void cpi_maintenance_init(struct cpi_maintenance *maintenance);

/* Counts so many requests to the operating system. */
void cpi_pool_note_calls(struct cpi_pool *pool, uint64_t calls);

/* pool_wait.c.  Hands a slot that is being freed, or that a waiter found, to a waiter
 * that sleeps, if the first one starves and is not the finder.  Returns true if it has.
 * May block. */
bool cpi_pool_hand_over(struct cpi_pool *pool, void *slot, const struct cpi_waiter *finder);

/* Whether, at a glance, a free has to call a waiter, which finds the slot soonest in
 * the depot.  Wait-free. */
bool cpi_pool_has_to_call(const struct cpi_pool *pool);

/* After an operation, with this cache or none: sends a waiter, if one asks for that, to
 * look for what the operation left.  May block. */
void cpi_pool_call_waiter(struct cpi_pool *pool, const struct cpi_cache *cache);

/* The same after an alloc that found this slot, or NULL.  Then the slots that its look has moved
 * are there for others, but room for which the system refuses memory is no reason to call. */
void cpi_pool_call_after_alloc(struct cpi_pool *pool, const struct cpi_cache *cache,
                               const void *slot);

/* After slots came into the depot, or into being, in another way than by a free: the
 * same. */
void cpi_pool_wake_waiters(struct cpi_pool *pool);

void cpi_waiters_init(struct cpi_waiters *waiters);
void cpi_waiters_fini(struct cpi_waiters *waiters);

/* Returns 0 and the index if `slot` is a slot that was handed out, or the code that was
 * reported on behalf of `function`. */
int cpi_pool_judge(const struct cpi_pool *pool, const void *slot, const char *function,
                   uintptr_t *index);

static inline bool cpi_pool_validate(struct cpi_pool *pool, const void *slot,
                                     const char *function)
{
    uintptr_t index;

    return cpi_pool_judge(pool, slot, function, &index) == 0;
}

/* pool_lease.c.  Ends all leases, after their caches.  With the lock held, while no thread uses the
 * pool. */
void cpi_pool_end_leases(struct cpi_pool *pool);

/* Report a mistake: of the pool as a whole, about a slot, about slots of which is
 * known only how many were freed twice, about an address near a slot, about a slot with
 * details that are known already, about a handle that leads to no pool. */
void cpi_pool_report(int code, const char *function, const struct cpi_pool *pool);
void cpi_pool_report_slot(int code, const char *function, const struct cpi_pool *pool,
                          uintptr_t index);
void cpi_pool_report_surplus(const char *function, const struct cpi_pool *pool, uint64_t slots);
void cpi_pool_report_address(int code, const char *function, const struct cpi_pool *pool,
                             const void *address, uintptr_t index);
void cpi_pool_report_details(int code, const char *function, const struct cpi_pool *pool,
                             uintptr_t index, struct cpi_text *details);
CPI_COLD void cpi_pool_report_handle(const char *function, const cpool_t *handle);

/* Reports an address at which no slot of any pool begins. */
CPI_COLD void cpi_pool_report_stray(const char *function, const void *address);

/*
 * The pool of a handle.  NULL after CPOOL_EPOOL has been reported on behalf of
 * `function`: the handle is NULL, or no descriptor of this copy of the library, or its
 * pool has been destroyed.
 */
static inline struct cpi_pool *cpi_pool_of(const cpool_t *handle, const char *function)
{
    if (CPI_LIKELY(cpi_handle_is_alive(handle)))
        return handle->state;
    cpi_pool_report_handle(function, handle);
    return NULL;
}

/* pool_layer.c.  The pool behind a face, or NULL.  Wait-free. */
struct cpi_pool *cpi_layer_pool(const cpool_t *face);

/* The pool of any handle or face, or NULL. */
static inline struct cpi_pool *cpi_pool_at(const cpool_t *handle)
{
    return CPI_LIKELY(cpi_handle_is_alive(handle)) ? handle->state : cpi_layer_pool(handle);
}

/* The same as cpi_pool_of for functions that take and give no slots: they take faces, too. */
static inline struct cpi_pool *cpi_pool_seen(const cpool_t *handle, const char *function)
{
    struct cpi_pool *pool = cpi_pool_at(handle);

    return CPI_LIKELY(pool != NULL) ? pool : cpi_pool_of(handle, function);
}

/* pool_info.c.  Counts the live slots for the figures.  Wait-free. */
void cpi_pool_count_usage(struct cpi_pool *pool, struct cpi_cache *cache);

/* Before an alloc that leaves the inline path, most of all for an exchange with the
 * depot: the same, once in a while. */
static inline void cpi_pool_sample(struct cpi_pool *pool, struct cpi_cache *cache)
{
    if (CPI_UNLIKELY(--cache->until_count == 0))
        cpi_pool_count_usage(pool, cache);
}

/* pool_debug.c.  Writes the list of live slots of a checked pool to standard error.
 * Allocates nothing. */
void cpi_pool_write_live(const struct cpi_pool *pool);

/* Slots that are live, at least 0.  With the lock held. */
size_t cpi_pool_count_live(const struct cpi_pool *pool);

/* Slots that are live.  Below zero, slots came back more often than they went out.
 * Exact if nobody uses the pool.  With the lock held. */
int64_t cpi_pool_live(const struct cpi_pool *pool, const struct cpi_registry_figures *figures);

#endif /* CPI_POOL_IMPL_H */
