/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waiters.h - threads that sleep until a slot is free, event loops that ask for a notice, and the
 * calls that wake both.
 *
 * They know the registry of a pool, its slab and its depot. pool/wait.c searches for the slot.
 */
#ifndef CPI_WAITERS_H
#define CPI_WAITERS_H

#include "cache/reclaim.h"
#include "host/sync.h"
#include "wait/queue.h"

/* How long running threads may overtake a waiting thread, nanoseconds. */
#define CPI_STARVING_AFTER 1000000u

/* The first nap of a waiter after a call in vain, nanoseconds. */
#define CPI_NAP UINT64_C(50000)

/* The longest sleep of a waiter when nobody may call it, nanoseconds: the system refused memory for
 * fresh slots, or slots are retired. */
#define CPI_UNTOLD_SLEEP UINT64_C(10000000)

/* The waiters of a pool. */
struct cpi_waiters {
    struct cpi_registry *registry; /* constant: the pool's */
    struct cpi_queue queue; /* each slow free reads its word before and after */
    _Atomic uint64_t waits; /* waiters that have slept, so far */
    _Atomic bool delayed;   /* slots are retired: sleepers search again now and then */
    cpi_mutex_t lock;       /* the queue's lock */
    uint64_t starving_after; /* constant: CPI_STARVING_AFTER, except in tests */
    /* Guarded by the lock: */
    struct cpi_waiter bell; /* waits on behalf of cpool_alloc_or_notify */
    bool bell_waits;        /* the bell is in the queue */
    unsigned bell_begun;    /* what cpi_reclaim_begin returned: entries are closed for the bell */
    bool bell_owed;         /* a caller has got NULL since the bell joined */
    bool closed;            /* cpool_wait_close: nobody waits any more */
    uint32_t dismissals;    /* calls of cpool_wait_close and cpool_wait_cancel */
    cpool_ready_t ready;    /* called when the bell is called, or NULL */
    void *ready_arg;
};

/* A waiting thread, on its own stack. */
struct cpi_sleeper {
    struct cpi_waiter waiter; /* the first member: its part in the queue */
    cpi_condition_t woken;    /* used with the queue's lock */
    uint64_t deadline;        /* on the monotonic clock; UINT64_MAX: none */
    uint64_t nap;             /* length of the next nap */
    bool slept;               /* it has slept, and was counted */
    uint64_t alone_nap;       /* length of the next nap if an owner was inside, or 0 */
    uint32_t vain;            /* the epoch of the last search in vain */
    uint32_t epoch;           /* its epoch when it last woke up */
    uint32_t dismissals;      /* the number of dismissals when it joined */
    bool last;                /* it does not sleep after the current search */
};

/* All members must be zero before init, and the lock is destroyed at the end.  `ready` and the
 * dismissals outlive a fork. */
void cpi_waiters_init(struct cpi_waiters *waiters, struct cpi_registry *registry);

/* --- For threads that free slots --- */

/* Calls the first waiter, if there is one, because slots are in the depot or were created, or
 * because an operation has left.  May block. */
void cpi_waiters_came(struct cpi_waiters *waiters);

/* Calls the first waiter, if one asks for that, and the bell's callback.  May block. */
void cpi_waiters_call(struct cpi_waiters *waiters);

/* Hands a slot to a sleeping waiter, if the first waiter starves and is not the finder.  Returns
 * true if it did.  May block. */
CPI_COLD bool cpi_waiters_serve(struct cpi_waiters *waiters, void *slot,
                                const struct cpi_waiter *finder);

/* Hands a slot over, after a quick check, when the slot is freed or found by a waiter. */
static inline bool cpi_waiters_hand_over(struct cpi_waiters *waiters, void *slot,
                                         const struct cpi_waiter *finder)
{
    uint32_t word = cpi_queue_glance(&waiters->queue);

    return CPI_UNLIKELY((word & CPI_QUEUE_STARVES) != 0) &&
           cpi_waiters_serve(waiters, slot, finder);
}

/* From now on, a search may find slots that no operation announces: those that a client holds back
 * (cpool/client.h).  Wakes those that sleep for long.  May block. */
void cpi_waiters_delay(struct cpi_waiters *waiters);

/* Makes every waiter give up after its next search in vain, and if `close`, later ones, too.
 * Returns the number of waiting threads. */
size_t cpi_waiters_dismiss(struct cpi_waiters *waiters, bool close);

/* --- For a thread that waits --- */

/* With the lock held: whether cpi_waiters_dismiss has told this waiter to give up. */
bool cpi_sleeper_is_dismissed(const struct cpi_waiters *waiters, const struct cpi_sleeper *self);

/* Returns false if the system refuses what a sleep needs. */
bool cpi_sleeper_init(struct cpi_sleeper *self, uint64_t deadline);

/* The waiter is in the queue from join to leave. leave returns whether the call must be passed on
 * to others. */
void cpi_sleeper_join(struct cpi_waiters *waiters, struct cpi_sleeper *self);
bool cpi_sleeper_leave(struct cpi_waiters *waiters, const struct cpi_sleeper *self);

/* Hands a slot that this waiter has found to an earlier one that starves.  Returns the slot if this
 * waiter keeps it, or NULL. */
void *cpi_sleeper_keep(struct cpi_waiters *waiters, const struct cpi_sleeper *self, void *slot);

/* After a search in vain: sleeps until there is a reason to search again.  Returns a slot that was
 * handed over or found in the depot, or NULL. */
void *cpi_sleeper_sleep(struct cpi_waiters *waiters, struct cpi_sleeper *self);

/* The earlier of two times. */
static inline uint64_t cpi_earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* --- Notices for event loops --- */

/* Before a search: puts the bell into the queue, so that slots freed from now on call it. */
void cpi_notice_announce(struct cpi_waiters *waiters);

/* After the search.  Returns false if it found nothing and the bell has been called since, so that
 * nobody will notify the caller: the caller has to search again. */
bool cpi_notice_conclude(struct cpi_waiters *waiters, bool found);

/* With the lock held, while the bell is in the queue: takes it out.  If it was `called`, passes the
 * call on.  Returns true if others wait then; the word asks on their behalf. */
bool cpi_notice_leave(struct cpi_waiters *waiters, bool called);

#endif /* CPI_WAITERS_H */
