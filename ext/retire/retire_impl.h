/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_impl.h - what a domain is made of.
 *
 * Includes <cpool/retire.h>, thread.h, way.h.
 *
 *   reader                         bags of a reader
 *   | inside | nested | epoch |    | from, count, stamp | from, count, stamp | ...   CPI_BAGS
 *      ^ the epoch in which it        |                      v one is filled
 *        went inside, or even         v slots and pools
 *
 * The owner alone adds to the bag that is filled, without a claim of it (bags.c).
 *
 * ORDERING TABLE
 *   begun | from load | acquire | bags.c's begin, move | the count
 *   count | count load | relaxed | - | -
 *   bare  | stamp load | acquire | bags.c's empty | that nobody reads the arrays any more
 *   gone  | state load | acquire | domain.c's leave | the bags of a destroyed reader
 *   used  | state load | relaxed | - | -
 */
#ifndef CPI_RETIRE_IMPL_H
#define CPI_RETIRE_IMPL_H

#include <cpool/retire.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "process/thread.h"
#include "track/words.h"

#define CPI_BAGS 4u

/* A reader's `epoch` while its beginnings meet those that look (look.c). */
#define CPI_PARKED ((const uintptr_t *)(uintptr_t)1)

/* A reader's `noted` where there is none: not NULL, which is an argument of cpool_retire. */
#define CPI_NOTED_NONE ((const cpool_t *)(uintptr_t)1)

enum cpi_reader_state {
    CPI_READER_FREE,
    CPI_READER_USED,
    CPI_READER_LEFT /* destroyed, and its bags are not empty */
};

/* Has the slots from `from` up to `count`. */
struct cpi_bag {
    _Atomic size_t count;    /* the owner's */
    _Atomic size_t from;     /* with a claim, or by the thread that empties it */
    _Atomic size_t to;       /* where those end that were closed, likewise */
    _Atomic uintptr_t stamp; /* bags.c */
    void **slots;
    cpool_t *_Atomic *pools;
};

/* The section that holds back a reader's bags, as its owner has seen it in its last pass. */
struct cpi_blocker {
    const struct cpi_reader *reader; /* NULL for none */
    uintptr_t inside;                /* the epoch of its beginning */
    uint64_t since;                  /* 0 after the report, or if there is none */
};

struct cpi_reader {
    _Alignas(CPI_LINE) cpool_reader_t face;
    struct cpool_domain *domain; /* constant, as the bags' arrays */
    const cpool_t *_Atomic noted; /* a pool of the domain without a gate, or none */
    unsigned filled;             /* the bags': number of the one that is filled */
    _Alignas(CPI_LINE) _Atomic uintptr_t claimed; /* 0, or by a thread that closes bags */
    _Atomic unsigned state;
    struct cpi_owned owned;      /* by a thread, or by none */
    struct cpi_blocker blocker;  /* the owner's */
    struct cpi_bag bags[CPI_BAGS];
};

struct cpool_domain {
    _Alignas(CPI_LINE) uintptr_t epoch; /* odd, so that it is never 0 */
    _Alignas(CPI_LINE) _Atomic uint64_t pools; /* a bit for each pool, by its handle */
    _Atomic size_t turn; /* where to look for a free reader, so that one goes out again late */

    /* Guarded by the lock. */
    struct cpool_domain *next;
    struct cpool_domain **link;
    unsigned visits; /* threads that end a reader, or give back for a dry pool */
    unsigned forks;  /* of the process when it was visited last */

    /* Constant. */
    cpool_t *handle; /* a descriptor that leads a thread to its reader, or CPI_HANDLE_NONE */
    struct cpi_ending ending;
    size_t size;     /* bytes of this, with the readers */
    void *arrays;    /* of all bags */
    size_t arrays_size; /* bytes */
    uint64_t stall_limit;
    size_t readers;
    size_t bag_size; /* slots */
    struct cpi_reader reader[];
};

static inline struct cpi_reader *cpi_reader_of(cpool_reader_t *face)
{
    return (struct cpi_reader *)(void *)face;
}

/* Of a reader's word. */
static inline bool cpi_is_inside(uintptr_t word)
{
    return word % 2 != 0;
}

static inline bool cpi_epoch_is_before(uintptr_t epoch, uintptr_t other)
{
    return (intptr_t)(epoch - other) < 0;
}

/* Approximate for other threads, whose two loads may be of different times. */
static inline size_t cpi_bag_held(const struct cpi_bag *bag)
{
    size_t from = cpi_load(&bag->from, acquire);   /* [begun] */
    size_t count = cpi_load(&bag->count, relaxed); /* [count] */

    return count > from ? count - from : 0;
}

static inline uintptr_t cpi_bag_stamp(const struct cpi_bag *bag)
{
    return cpi_load(&bag->stamp, acquire); /* [bare] */
}

/* Whether no other thread is the owner. */
static inline bool cpi_reader_is_own(const struct cpi_reader *reader,
                                     const struct cpi_reader *self)
{
    return reader == self || cpi_load(&reader->state, acquire) == CPI_READER_LEFT; /* [gone] */
}

/* bags.c.  How many slots the bags have, and whether they have none and none is just going back.
 * Wait-free. */
size_t cpi_reader_held(const struct cpi_reader *reader);
bool cpi_reader_rests(const struct cpi_reader *reader);

/* look.c.  Bags with a stamp before the result may go back.  A look passes the system's barrier if
 * a reader is at rest, and a glance does not.  `blocker` receives the section that holds back
 * the rest.  `self` is the caller's reader, or NULL.  Lock-free. */
uintptr_t cpi_retire_look(struct cpool_domain *domain, struct cpi_reader *self,
                          struct cpi_blocker *blocker);
uintptr_t cpi_retire_glance(struct cpi_reader *self);

/* bags.c.  Ends a grace period, and gives back what no section sees, of `self`, if that is not
 * NULL, of readers that were destroyed, and of all others if `all`.  Returns how many slots of
 * `pool` these were.  `blocker` receives the section that held back the rest, unless it is NULL.
 * Lock-free. */
size_t cpi_retire_pass(struct cpool_domain *domain, struct cpi_reader *self, bool all,
                       const cpool_t *pool, struct cpi_blocker *blocker);

/* Closes the bag that is filled, has an empty one filled, and gives back the bags that take no
 * barrier.  Returns true if there is another empty one besides, so that a pass can wait, which
 * takes as long for several bags. */
bool cpi_retire_turn(struct cpi_reader *reader);

/* Whether a pass is in vain: the section that held back the rest in the last one still does. */
bool cpi_retire_is_blocked(const struct cpi_reader *reader);

/* Flushes close bags that have room.  Has the youngest of them filled on, with a later stamp.
 * Returns false if there is none. */
bool cpi_retire_reopen(struct cpi_reader *reader);

/* Takes the pool's slots out of all bags.  They stay live.  Waits for readers in use. */
void cpi_retire_forget(struct cpool_domain *domain, const cpool_t *pool);

/* retire.c.  Returns the code. */
int cpi_reader_report(int code, const char *function, const cpool_reader_t *reader);

/* Whether it was destroyed, or its domain, which is reported. */
static inline bool cpi_reader_has_ended(const struct cpi_reader *reader, const char *function)
{
    return CPI_UNLIKELY(cpi_load(&reader->state, relaxed) != CPI_READER_USED) && /* [used] */
           cpi_ending_refuse(&reader->face, function);
}

/* domain.c.  note has the domain know the pool, and says whether its slots pass a gate that
 * knows retired ones.  Returns 0, or CPOOL_EPOOL, which was reported. */
int cpi_retire_note(struct cpi_reader *reader, const cpool_t *pool, bool *gated);

/* A slot of such a pool takes this step through the gate.  Returns 0, or why it does not, which
 * refuse reports. */
int cpi_retire_step(const cpool_t *pool, void *slot, enum cpi_retiring step);
void cpi_retire_refuse(int code, const cpool_t *pool, const void *slot);

/* Retired slots of any pool may be freed now. */
void cpi_retire_back(const cpool_t *pool, void *const *slots, size_t n);

/* retire_feature.c.  NULL before the first domain. */
struct cpi_pool;
struct cpi_retire_visits {
    /* Gives back what no section sees of the pool's slots, and returns how many these were.
     * `forgets`: and takes the others out of the bags.  Takes the lock. */
    size_t (*give_back)(struct cpi_pool *pool, bool forgets);
    void (*figures)(const struct cpi_pool *pool, cpool_stats_t *stats); /* with the lock held */
};
extern const struct cpi_retire_visits *_Atomic cpi_retire_visits;

/* The bit of a pool. */
static inline uint64_t cpi_retire_bit(const cpool_t *pool)
{
    return (uint64_t)1 << ((size_t)(pool - cpi_handles()->handles) % 64);
}

#endif /* CPI_RETIRE_IMPL_H */
