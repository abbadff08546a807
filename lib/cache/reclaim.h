/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim.h - closing the entries of a pool's caches, taking their loaded magazines, and waiting
 * for operations in progress.
 *
 * Any number of threads may do this concurrently, without a lock.  doc/CONCURRENCY.md 3.5 says how
 * they take what an owner has loaded, and 3.6 how a thread that finds the pool dry misses nothing.
 */
#ifndef CPI_RECLAIM_H
#define CPI_RECLAIM_H

#include "cache/registry.h"

/* --- The kernel's barrier --- */

/* Whether owners rely on the kernel's barrier.  If the kernel refuses it later, the entries that
 * rely on it are neither opened nor taken from any more.  Wait-free. */
bool cpi_has_barrier(void);

/* Every thread of the process passes a full barrier.  cpi_barrier_passed returns false if the
 * kernel refuses or has refused before.  cpi_barrier also counts the barrier, and returns true
 * without one if no owner relies on it. */
bool cpi_barrier_passed(void);
bool cpi_barrier(struct cpi_registry *registry);

/* --- Closing --- */

/* Between begin and end no entry is opened, so nothing moves into the caches. end takes the number
 * that begin returned.  In the child of a fork in between, nobody is closing, and end does nothing.
 * Any number of threads, wait-free. */
unsigned cpi_reclaim_begin(struct cpi_registry *registry);
void cpi_reclaim_end(struct cpi_registry *registry, unsigned begun);

/* How long to wait for others, at first by yielding, then by sleeping. */
struct cpi_backoff {
    uint64_t limit;    /* how long, nanoseconds from the first sleep */
    uint64_t deadline; /* 0: it has not slept yet */
    unsigned times;
};

/* Waits a moment.  Returns false when the limit is reached.  Not a cancellation point. */
bool cpi_await_pause(struct cpi_backoff *backoff);

/* Closes all entries, and gives the loaded magazines and the full spares of all caches to the
 * depot.  The calling thread must be between its own begin and end: otherwise an entry could be
 * opened, and a magazine taken while its owner uses it.  `barrier`: pass the kernel's barrier in
 * any case.  Waits for owners that are inside as long as `backoff` allows, or only briefly if it is
 * NULL.  Returns false if it left an owner alone.  Any thread; makes a system call unless
 * everything is closed and empty. */
bool cpi_reclaim_all(struct cpi_registry *registry, struct cpi_backoff *backoff, bool barrier);

/* Gives one full spare of some cache to the depot.  Returns false if no cache has one.  Any thread,
 * lock-free. */
bool cpi_reclaim_spare(struct cpi_registry *registry);

/* --- What is left --- */

/* What a thread without a cache may find in the pool.  Only reads, and may be outdated when it
 * returns.  Wait-free. */
#define CPI_LEFT_SLOTS 1u /* free slots in the depot */
#define CPI_LEFT_MORE 2u  /* the pool can still hand out fresh slots, or grow */
unsigned cpi_reclaim_left(const struct cpi_registry *registry);

/* Whether there is anything left, also in a cache.  Wait-free, in time linear in their number. */
bool cpi_reclaim_has_any(const struct cpi_registry *registry);

/* --- Waiting --- */

/* A number that changes whenever, while entries are closed, a slot moves between caches, the depot,
 * the fresh slots and users, or the capacity changes.  Any thread, wait-free. */
uint64_t cpi_reclaim_activity(const struct cpi_registry *registry);

/* Waits until every operation that is inside has left.  Returns false if the limit is reached
 * first. */
bool cpi_await_inside(const struct cpi_registry *registry, struct cpi_backoff *backoff);

/* Waits, for as long as it takes, until no operation is inside, and every operation that has given
 * a slot back has woken its waiter.  Not a cancellation point. */
void cpi_await_rest(const struct cpi_registry *registry);

#endif /* CPI_RECLAIM_H */
