/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim.h - closing the entries of a pool's caches, taking what their owners have loaded, and
 * waiting for what they have in their hands.
 *
 * Spares lie in atomic places, so anybody takes a whole one with one
 * compare-and-swap, and its owner, running, asleep or stopped, pays nothing.
 *
 * The loaded magazine belongs to an owner that uses it with plain loads and
 * stores.  So a thread that wants it closes the entry, and waits a bounded while for an owner that
 * is inside (cache.h).  An owner that stays inside is left alone, because what it holds is in the
 * hands of an operation.  Any number of threads may do this at once, without a lock.
 *
 * A thread that finds the pool dry must not miss a slot that moves while it looks.  It reads the
 * activity, looks, waits for every operation that is inside, and reads the activity again
 * (doc/CONCURRENCY.md, "Empty means empty").
 */
#ifndef CPI_RECLAIM_H
#define CPI_RECLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/registry.h"

/* --- The kernel's barrier --- */

/* Whether owners rely on it.  It may be refused later than at the start, and then no entry that
 * does is opened or taken from any more.  Wait-free. */
bool cpi_has_barrier(void);

/* Every thread of the process passes a full barrier before this returns.  False if the kernel's is
 * refused, or was.  The other counts it, and is true where no owner relies on it. */
bool cpi_barrier_passed(void);
bool cpi_barrier(struct cpi_registry *registry);

/* --- Closing --- */

/* Between these two no entry is opened, so that nothing moves into the caches.  end has the number
 * that begin has returned.  In the child of a fork in between, nobody closes, and it does nothing.
 * Any number of threads, wait-free. */
unsigned cpi_reclaim_begin(struct cpi_registry *registry);
void cpi_reclaim_end(struct cpi_registry *registry, unsigned begun);

/* How long to wait for others: at first by giving way, then by sleeping. */
struct cpi_backoff {
    uint64_t limit;    /* nanoseconds, from the first sleep on */
    uint64_t deadline; /* 0: it has not slept yet */
    unsigned times;
};

/* Waits a little.  Returns false when the patience has ended.  Not a point of
 * cancellation. */
bool cpi_await_pause(struct cpi_backoff *backoff);

/*
 * Between begin and end of the calling thread itself: closes all entries, and gives the loaded
 * magazines and the full spares of all caches to the depot.  An entry that could be opened
 * meanwhile would be taken from although its owner uses it.  `barrier`: passes the kernel's in any
 * case.  Waits for owners that are inside as long as the backoff has it, or a few looks for NULL.
 * Returns false if it has left one alone.  Any thread, makes a system call unless everything is
 * closed and empty.
 */
bool cpi_reclaim_all(struct cpi_registry *registry, struct cpi_backoff *backoff, bool barrier);

/* Gives one full spare of some cache to the depot.  Returns false if no cache has any.
 * Any thread, lock-free. */
bool cpi_reclaim_spare(struct cpi_registry *registry);

/* --- What is left --- */

/* Bits of what is left in a pool for somebody without a cache, at a glance.  It reads and
 * takes nothing, and may be outdated when the caller has it.  Wait-free. */
#define CPI_LEFT_SLOTS 1u /* free slots in the depot */
#define CPI_LEFT_MORE 2u  /* and room for more than there have been so far */
unsigned cpi_reclaim_left(const struct cpi_registry *registry);

/* Whether there is anything left, or in any cache.  Wait-free in their number. */
bool cpi_reclaim_has_any(const struct cpi_registry *registry);

/* --- Waiting --- */

/*
 * A number that differs, between two looks, if a slot has changed its place between caches, the
 * depot, the fresh ones and users, while entries are closed, or the capacity has changed.  Any
 * thread, wait-free.
 *
 * It is a checksum of counters that each owner keeps for itself.  One sequence number
 * of the pool would be simpler to compare, but each exchange would have
 * to write it, and all threads would fight over its line.  The counters cost their owners a plain
 * store, and only a thread that has found nothing pays for the sum.
 */
uint64_t cpi_reclaim_activity(const struct cpi_registry *registry);

/*
 * Waits until every operation that is inside has left, or has been followed by another
 * one.  Returns false if patience ends before.
 */
bool cpi_await_inside(const struct cpi_registry *registry, struct cpi_backoff *backoff);

/* Waits until no operation is inside, and none that has given a slot back has still to
 * call a waiter, for as long as it takes.  Not a point of cancellation. */
void cpi_await_rest(const struct cpi_registry *registry);

#endif /* CPI_RECLAIM_H */
