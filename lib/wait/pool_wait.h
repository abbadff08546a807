/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_wait.h - a thread that sleeps until a slot is free, and the call that wakes it.
 *
 * pool_wait.c is about the threads that wait, and programs that want neither to sleep nor to look
 * again and again, and call.c about those that give.
 */
#ifndef CPI_POOL_WAIT_H
#define CPI_POOL_WAIT_H

#include <cpool/events.h>

#include "pool/pool.h"
#include "host/sync.h"
#include "wait/queue.h"

/* How long a thread that waits may be overtaken by those that run, nanoseconds. */
#define CPI_STARVING_AFTER 1000000u

/* Threads that wait for a slot. */
struct cpi_waiters {
    struct cpi_queue queue; /* its word is read before and after each free out of line */
    _Atomic uint64_t waits; /* that ever slept */
    _Atomic bool delayed;   /* slots are retired: sleepers look again now and then */
    cpi_mutex_t lock;       /* the queue's */
    uint64_t starving_after; /* constant: CPI_STARVING_AFTER, but in tests */
    /* Guarded by the lock: */
    struct cpi_waiter bell; /* waits on behalf of cpool_alloc_or_notify */
    bool bell_waits;        /* it is in the queue */
    unsigned bell_begun;    /* since then entries are closed for it (reclaim.h) */
    bool bell_owed;         /* and a call has returned NULL since it joined */
    unsigned bell_looks;    /* calls that have announced it and are still looking */
    bool closed;            /* cpool_wake_all: nobody waits any more */
    uint32_t dismissals;    /* calls of cpool_wake_all */
    cpool_ready_t ready;    /* called when the bell is, or NULL */
    void *ready_context;
};

static inline struct cpi_waiters *cpi_waiters_of(const struct cpi_pool *pool)
{
    return pool->waiters;
}

/* On the waiter's own stack. */
struct cpi_sleeper {
    struct cpi_waiter waiter; /* first: the queue's part */
    cpi_condition_t woken;    /* with the queue's lock */
    uint64_t deadline;        /* of the monotonic clock, or UINT64_MAX for none */
    uint64_t nap;             /* length of its next nap */
    bool slept;               /* and was counted */
    uint64_t alone_nap;       /* its length after the last look if an owner was inside, or 0 */
    uint32_t vain;            /* the epoch of its last look in vain */
    uint32_t epoch;           /* its epoch when it last woke up */
    uint32_t dismissals;      /* of the pool's waiters, when it joined them */
    bool last;                /* it does not sleep after the look under way */
};

/* With the lock held: wakes a waiter, which is not the bell, or does nothing for NULL. */
void cpi_pool_wake(struct cpi_waiter *waiter);

/* With the lock held, while the bell is in the queue: it leaves.  If it has been `called` it
 * passes the call on.  Returns true if others wait then, and the word asks on their behalf. */
bool cpi_pool_take_bell(struct cpi_pool *pool, bool called);

/* Calls the first waiter, if a waiter asks for that.  May block, and rings the bell. */
void cpi_pool_call(struct cpi_pool *pool);

/* Hands a slot to a waiter that sleeps, if the first one starves and is not the finder.
 * Returns true if it has.  May block. */
CPI_COLD bool cpi_pool_serve(struct cpi_pool *pool, void *slot, const struct cpi_waiter *finder);

/* The same for a slot that is being freed, or that a waiter found, at a glance. */
static inline bool cpi_pool_hand_over(struct cpi_pool *pool, void *slot,
                                      const struct cpi_waiter *finder)
{
    uint32_t word = cpi_queue_glance(&cpi_waiters_of(pool)->queue);

    return CPI_UNLIKELY((word & CPI_QUEUE_STARVES) != 0) && cpi_pool_serve(pool, slot, finder);
}

#endif /* CPI_POOL_WAIT_H */
