/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * domain.h - what a domain is made of: readers, and the bags of slots that they have retired.
 *
 *   reader
 *   | inside | nested | epoch |    | from, count, stamp | from, count, stamp | ...   CPI_BAGS
 *      ^ the epoch in which its       |                      v one is open
 *        section began, or even       v slots, and the pool of each
 *
 * ORDERING TABLE
 *   used  | state load | relaxed | - | -
 *   forks | forks load | relaxed | - | -
 */
#ifndef CPI_DOMAIN_H
#define CPI_DOMAIN_H

#include <cpool/retire.h>

#include "common.h"

#define CPI_BAGS 4u

/* A reader's `epoch` while its next section begins out of line, and meets the scans (epoch.c). */
#define CPI_OFFLINE ((const uintptr_t *)(uintptr_t)1)

/* No pool, where NULL is an argument of cpool_retire. */
#define CPI_POOL_NONE ((const cpool_t *)(uintptr_t)1)

enum cpi_reader_state {
    CPI_READER_FREE,
    CPI_READER_USED,
    CPI_READER_ORPHAN /* destroyed, and its bags are not empty */
};

/* Has the slots from `from` up to `count`. */
struct cpi_bag {
    _Atomic size_t count;    /* written by the owner */
    _Atomic size_t from;     /* written with a claim, or by the thread that empties the bag */
    _Atomic size_t to;       /* the end of the slots under the stamp.  Written as `from` */
    _Atomic uintptr_t stamp; /* retire.c */
    void **slots;
    cpool_t *_Atomic *pools;
};

/* The section that kept a reader's bags from going back when its owner scanned last. */
struct cpi_blocker {
    const struct cpi_reader *reader; /* NULL for none */
    uintptr_t inside;                /* the epoch of its beginning */
    uint64_t since;                  /* nanoseconds.  0 after the report, or without a limit */
};

struct cpi_reader {
    _Alignas(CPI_LINE) cpool_reader_t section;
    struct cpool_domain *domain;  /* constant, as the bags' arrays */
    const cpool_t *_Atomic plain; /* a pool that was noted, and keeps no states of its slots */
    unsigned open;                /* the number of the bag that slots are put into */
    _Alignas(CPI_LINE) _Atomic uintptr_t claim; /* 0, or of a thread that changes the bags */
    _Atomic unsigned state;
    cpool_client_owned_t owned;   /* by a thread, or by none */
    struct cpi_blocker blocker;   /* the owner's */
    struct cpi_bag bags[CPI_BAGS];
};

struct cpool_domain {
    _Alignas(CPI_LINE) uintptr_t epoch; /* odd, so that it is never 0 */
    _Alignas(CPI_LINE) _Atomic size_t next_reader; /* where to look first for a free one, so that
                                                      each rests for long */
    uintptr_t ended; /* atomic.  1 after the end */

    /* Guarded by the lock. */
    struct cpool_domain *next;
    unsigned visits; /* threads that end a reader, or give back for a dry pool */
    unsigned forks;  /* of the process when `visits` was changed last */

    /* Constant. */
    cpool_client_t client; /* with the key that leads a thread to its reader */
    const cpool_t *key;    /* after the end a descriptor that leads nowhere */
    size_t size;           /* bytes of this, with the readers */
    void **arrays;         /* of their bags */
    size_t arrays_size;    /* bytes */
    uint64_t stall_limit_ns;  /* nanoseconds */
    size_t readers;
    size_t bag_size;       /* slots */
    struct cpi_reader reader[];
};

static inline struct cpi_reader *cpi_reader_of(cpool_reader_t *section)
{
    return (struct cpi_reader *)(void *)section;
}

/* Of a reader's word `inside`. */
static inline bool cpi_is_inside(uintptr_t word)
{
    return word % 2 != 0;
}

static inline bool cpi_epoch_is_before(uintptr_t epoch, uintptr_t other)
{
    return (intptr_t)(epoch - other) < 0;
}

/* Another number in the child of a fork, so that what a vanished thread has left is known. */
static inline unsigned cpi_domain_forks(const struct cpool_domain *domain)
{
    return cpi_word_load(domain->client.system->forks, relaxed); /* [forks] */
}

/* Whether the reader or its domain has been destroyed, which is reported. */
static inline bool cpi_reader_has_ended(const struct cpi_reader *reader, const char *function)
{
    return CPI_UNLIKELY(cpi_load(&reader->state, relaxed) != CPI_READER_USED) && /* [used] */
           cpi_report_address(CPOOL_EPOOL, function, &reader->section) != 0;
}

/* epoch.c.  Bags with a stamp before the result may go back.  With `barrier` it passes the
 * kernel's, if a reader at rest is in the way.  `blocker`, or NULL, receives the section that holds
 * back the rest.  `self` is the caller's reader, or NULL.  Lock-free. */
uintptr_t cpi_epoch_scan(struct cpool_domain *domain, struct cpi_reader *self, bool barrier,
                         struct cpi_blocker *blocker);

/* retire.c.  How many slots a reader's bags have, of a pool or, for NULL, of all, and whether they
 * have none and none is just going back.  Wait-free. */
size_t cpi_reader_held(const struct cpi_reader *reader, const cpool_t *of);
bool cpi_reader_is_empty(const struct cpi_reader *reader);

/* retire.c.  Ends a grace period, and gives back what no section sees: from the bags of `self`,
 * unless that is NULL, of destroyed readers, and of all others if `all`.  Returns how many slots of
 * `pool` these were.  Lock-free. */
size_t cpi_retire_reclaim(struct cpool_domain *domain, struct cpi_reader *self, bool all,
                          const cpool_t *pool);

/* Gives back the pool's slots that no section sees, and takes the others out of all bags.  These
 * stay live.  Waits for readers in use. */
void cpi_retire_forget(struct cpool_domain *domain, const cpool_t *pool);

#endif /* CPI_DOMAIN_H */
