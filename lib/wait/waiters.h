/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waiters.h - threads that sleep until a slot is free, event loops that ask for a notice, and the
 * calls that wake them.
 *
 * They know the registry of a pool, its slab and its depot.  pool/wait.c looks for the slot.
 */
#ifndef CPI_WAITERS_H
#define CPI_WAITERS_H

#include <cpool/events.h>

#include "cache/reclaim.h"
#include "host/sync.h"
#include "wait/queue.h"

/* How long a thread that waits may be overtaken by those that run, nanoseconds. */
#define CPI_STARVING_AFTER 1000000u

/* Nanoseconds that a waiter naps after a call in vain: the first time. */
#define CPI_NAP UINT64_C(50000)

/* Nanoseconds that a waiter sleeps at a time where nobody tells it when to look again: it has
 * looked in vain although the pool has fresh slots, because the system has refused their memory,
 * or slots are retired, and the end of the section that holds them back calls nobody. */
#define CPI_UNTOLD_SLEEP UINT64_C(10000000)

/* Those of a pool. */
struct cpi_waiters {
    struct cpi_registry *registry; /* constant: of the pool */
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
    bool closed;            /* cpool_wake_all: nobody waits any more */
    uint32_t dismissals;    /* calls of cpool_wake_all */
    cpool_ready_t ready;    /* called when the bell is, or NULL */
    void *ready_context;
};

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

/* All members are zero before init, and `ready` and the dismissals outlive a fork. */
void cpi_waiters_init(struct cpi_waiters *waiters, struct cpi_registry *registry);
void cpi_waiters_fini(struct cpi_waiters *waiters);

/* Threads that ever slept. */
uint64_t cpi_waiters_waits(const struct cpi_waiters *waiters);

/* --- For those that give --- */

/* Slots have come into the depot or into being, or an operation has left something there: the first
 * waiter is called, if there is one.  May block. */
void cpi_waiters_came(struct cpi_waiters *waiters);

/* Calls the first waiter, if a waiter asks for that.  May block, and rings the bell. */
void cpi_waiters_call(struct cpi_waiters *waiters);

/* Hands a slot to a waiter that sleeps, if the first one starves and is not the finder.
 * Returns true if it has.  May block. */
CPI_COLD bool cpi_waiters_serve(struct cpi_waiters *waiters, void *slot,
                                const struct cpi_waiter *finder);

/* At a glance, for a slot that is being freed, or that a waiter found. */
static inline bool cpi_waiters_hand_over(struct cpi_waiters *waiters, void *slot,
                                         const struct cpi_waiter *finder)
{
    uint32_t word = cpi_queue_glance(&waiters->queue);

    return CPI_UNLIKELY((word & CPI_QUEUE_STARVES) != 0) &&
           cpi_waiters_serve(waiters, slot, finder);
}

/* From now on a look may find slots that no operation announces: those that a client holds back
 * (cpool/client.h).  Wakes those that sleep for long.  May block.  are_delayed: whether delay was
 * called. */
void cpi_waiters_delay(struct cpi_waiters *waiters);
bool cpi_waiters_are_delayed(const struct cpi_waiters *waiters);

/* Nobody waits any longer than until its next look in vain, and if `closed` nobody will.  Returns
 * how many threads there were. */
size_t cpi_waiters_dismiss(struct cpi_waiters *waiters, bool closed);

/* --- For a thread that waits --- */

/* With the lock held: whether cpi_waiters_dismiss says that it is not to wait. */
bool cpi_sleeper_is_dismissed(const struct cpi_waiters *waiters, const struct cpi_sleeper *self);

/* Returns false if the system refuses what a sleep takes. */
bool cpi_sleeper_init(struct cpi_sleeper *self, uint64_t deadline);

/* From joining to leaving it is in the queue.  leave returns whether the call is to be passed on
 * to others. */
void cpi_sleeper_join(struct cpi_waiters *waiters, struct cpi_sleeper *self);
bool cpi_sleeper_leave(struct cpi_waiters *waiters, const struct cpi_sleeper *self);

/* A waiter that has found a slot hands it to one that came earlier and starves.  Returns the slot
 * if it keeps it, or NULL. */
void *cpi_sleeper_keep(struct cpi_waiters *waiters, const struct cpi_sleeper *self, void *slot);

/* After a look in vain: sleeps until there is reason to look again.  Returns a slot that was handed
 * over, or lies where a thread that calls leaves it, or NULL. */
void *cpi_sleeper_sleep(struct cpi_waiters *waiters, struct cpi_sleeper *self);

/* The earlier one of two times. */
static inline uint64_t cpi_earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* --- Notices for event loops --- */

/* Before a look: the bell is in the queue, and is called for slots that are freed from now on. */
void cpi_notice_announce(struct cpi_waiters *waiters);

/* After the look, which has found a slot or not.  Returns false if the caller has none and will
 * not be called, because the bell was called since: the caller is to look again. */
bool cpi_notice_conclude(struct cpi_waiters *waiters, bool found);

/* With the lock held, while the bell is in the queue: it leaves.  If it has been `called` it
 * passes the call on.  Returns true if others wait then, and the word asks on their behalf. */
bool cpi_notice_leave(struct cpi_waiters *waiters, bool called);

#endif /* CPI_WAITERS_H */
