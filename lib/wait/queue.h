/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.h - the threads that wait for a slot, and the word that tells whether there are any.
 *
 * Includes atomic.h and compiler.h only, so that a model checker can use it unchanged.  The lock
 * and the sleeping are in waiters.c.
 *
 *   a thread that waits                   a thread that frees
 *   announces itself: ASKS                leaves a slot where the waiter searches
 *   passes the barrier                    does the word say ASKS?
 *   searches everywhere                   calls the first waiter: no ASKS any more,
 *   sleeps, unless its epoch has moved    its epoch moves, it is woken
 *
 * The word says ASKS while a freeing thread must call a waiter, and STARVES while the first waiter
 * must get the next freed slot, although running threads could use it sooner.  doc/CONCURRENCY.md
 * 7.1 argues why no wake-up is lost, and why the inline path need not ask.
 *
 * ORDERING TABLE
 *   announce | word exchange          | acquire | ask      | -
 *   ask      | word fetch-and-add of 0 | release | announce | what this operation gave back
 *   glance   | word load              | relaxed | -        | -
 *   own      | word load, with the lock held | relaxed | - | -
 *
 * If the kernel has a barrier, the waiter passes it after its announcement, and a [glance] suffices
 * in place of [ask].
 */
#ifndef CPI_QUEUE_H
#define CPI_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

/* Bits of the word. */
#define CPI_QUEUE_ASKS 1u
#define CPI_QUEUE_STARVES 2u

/* Guarded by the queue's lock.  In the queue from joining until it leaves or is served. */
struct cpi_waiter {
    struct cpi_waiter *next;
    struct cpi_waiter *previous;
    void *slot;     /* the slot handed over, after it has left the queue, or NULL */
    uint32_t epoch; /* the number of calls so far */
    bool asleep;    /* or about to be; the lock is held in between */
    uint64_t due;   /* constant: nanoseconds; it starves from then on */
};

struct cpi_queue {
    _Atomic uint32_t word;    /* written with the lock held, read by any thread */
    struct cpi_waiter *first; /* guarded by the lock */
    struct cpi_waiter *last;  /* guarded by the lock */
};

static inline void cpi_queue_init(struct cpi_queue *queue)
{
    atomic_init(&queue->word, 0);
    queue->first = NULL;
    queue->last = NULL;
}

/* --- Without the lock --- */

/* Before a slot is freed: the word, which tells whether a waiter must get the slot, or should find
 * it in the depot. */
static inline uint32_t cpi_queue_glance(const struct cpi_queue *queue)
{
    return cpi_load(&queue->word, relaxed); /* [glance] */
}

/* After an operation: whether a waiter must be called.  `barrier`: waiters pass the kernel's
 * barrier. */
static inline bool cpi_queue_is_asked(struct cpi_queue *queue, bool barrier)
{
    uint32_t word;

    if (barrier) {
        atomic_signal_fence(memory_order_seq_cst);
        word = cpi_queue_glance(queue);
    } else {
        word = cpi_fetch_add(&queue->word, 0u, release); /* [ask] */
    }
    return (word & CPI_QUEUE_ASKS) != 0;
}

/* --- With the lock held --- */

static inline bool cpi_queue_says(const struct cpi_queue *queue, uint32_t bit)
{
    return (cpi_load(&queue->word, relaxed) & bit) != 0; /* [own] */
}

static inline void cpi_queue_say(struct cpi_queue *queue, uint32_t bit, bool on)
{
    uint32_t word = cpi_load(&queue->word, relaxed); /* [own] */

    if (((word & bit) != 0) != on)
        cpi_exchange(&queue->word, word ^ bit, acquire); /* [announce] */
}

static inline void cpi_queue_join(struct cpi_queue *queue, struct cpi_waiter *waiter,
                                  uint64_t due)
{
    CPI_ASSERT((queue->first == NULL) == (queue->last == NULL));
    CPI_ASSERT(queue->last == NULL || queue->last->next == NULL);
    waiter->next = NULL;
    waiter->previous = queue->last;
    waiter->slot = NULL;
    waiter->epoch = 0;
    waiter->asleep = false;
    waiter->due = due;
    *(queue->last != NULL ? &queue->last->next : &queue->first) = waiter;
    queue->last = waiter;
}

static inline void cpi_queue_unlink(struct cpi_queue *queue, const struct cpi_waiter *waiter)
{
    CPI_ASSERT((waiter->previous != NULL ? waiter->previous->next : queue->first) == waiter);
    CPI_ASSERT((waiter->next != NULL ? waiter->next->previous : queue->last) == waiter);
    *(waiter->previous != NULL ? &waiter->previous->next : &queue->first) = waiter->next;
    *(waiter->next != NULL ? &waiter->next->previous : &queue->last) = waiter->previous;
    if (queue->first == NULL)
        cpi_queue_say(queue, CPI_QUEUE_ASKS, false);
}

/* Before a search.  If the epoch is still the one returned after it, the waiter may sleep. */
static inline uint32_t cpi_queue_announce(struct cpi_queue *queue,
                                          const struct cpi_waiter *waiter)
{
    CPI_ASSERT(queue->first != NULL && waiter->slot == NULL && !waiter->asleep);
    cpi_queue_say(queue, CPI_QUEUE_ASKS, true);
    return waiter->epoch;
}

/* Calls the first waiter, if the word says ASKS.  The caller wakes it. */
static inline struct cpi_waiter *cpi_queue_call(struct cpi_queue *queue)
{
    if (!cpi_queue_says(queue, CPI_QUEUE_ASKS))
        return NULL;
    CPI_ASSERT(queue->first != NULL); /* nobody asks in an empty queue */
    cpi_queue_say(queue, CPI_QUEUE_ASKS, false);
    queue->first->epoch++;
    return queue->first;
}

/* Updates STARVES: whether the first waiter has waited so long that it is served next. */
static inline void cpi_queue_starve(struct cpi_queue *queue, uint64_t now)
{
    cpi_queue_say(queue, CPI_QUEUE_STARVES, queue->first != NULL && now >= queue->first->due);
}

/* Leaves after the last search.  `vain` is the epoch of the last search in vain.  Returns true if
 * the waiter was called since and others wait.  The word then asks on their behalf, and the caller
 * must check whether there is anything left. */
static inline bool cpi_queue_leave(struct cpi_queue *queue, const struct cpi_waiter *waiter,
                                   uint32_t vain)
{
    bool pass_on;

    CPI_ASSERT(!waiter->asleep);
    if (waiter->slot == NULL)
        cpi_queue_unlink(queue, waiter);
    pass_on = queue->first != NULL && waiter->epoch != vain;
    if (pass_on)
        cpi_queue_say(queue, CPI_QUEUE_ASKS, true);
    return pass_on;
}

/* Hands a slot to the first sleeping waiter: one that is awake finds a slot itself.  Returns the
 * waiter, which the caller wakes, or NULL if none sleeps. */
static inline struct cpi_waiter *cpi_queue_serve(struct cpi_queue *queue, void *slot)
{
    struct cpi_waiter *waiter = queue->first;

    while (waiter != NULL && !waiter->asleep)
        waiter = waiter->next;
    if (waiter != NULL) {
        CPI_ASSERT(slot != NULL && waiter->slot == NULL);
        cpi_queue_unlink(queue, waiter);
        waiter->slot = slot;
    }
    return waiter;
}

#endif /* CPI_QUEUE_H */
