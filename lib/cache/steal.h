/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steal.h - taking rounds back from other threads' caches when the pool is dry, and waiting for
 * what their owners have in their hands.
 *
 * Spares lie in atomic places, so anybody takes a whole one with one
 * compare-and-swap, and its owner, running, asleep or stopped, pays nothing.
 *
 * The loaded magazine belongs to an owner that uses it with plain loads and
 * stores.  In exact pools the owner is inside whenever it uses it, and the stealing thread
 * waits a bounded while for it to leave.  An owner that stays inside is left alone,
 * because what it holds is in the hands of an operation.
 *
 * The stealing thread is in flight at the depot (depot.h), and uses that operation's counters.
 *
 * A thread that finds the pool dry must not miss a slot that moves while it looks.  It reads the
 * activity, looks, waits for every operation that is inside, and reads the activity again
 * (doc/CONCURRENCY.md, "Empty means empty").
 */
#ifndef CPI_STEAL_H
#define CPI_STEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/registry.h"

/*
 * Gives a full spare of some cache to the depot.  Returns false if no cache has any.
 * Any thread, lock-free.
 */
bool cpi_steal_spare(struct cpi_registry *registry, struct cpi_counters *counters);

/*
 * Gives the loaded magazines of all caches to the depot, except those with an owner inside.
 * Returns false if there was no round in them.  Exact pools only.  Any thread, lock-free, makes a
 * system call.
 */
bool cpi_steal_loaded(struct cpi_registry *registry, struct cpi_counters *counters);

/* Gives all that these two can get to the depot.  With the library's lock held. */
void cpi_steal_all(struct cpi_registry *registry, struct cpi_counters *counters);

/*
 * The figures that tell of changes between two looks.  `moves` differs if a slot was freed, or
 * changed its place.  `loaded` tells of the inline path: it differs if caches show other rounds
 * than before, and is 0 where there is no slack, as loaded magazines are then out of reach.
 * `left` is the rounds that caches showed when they were looked at for it.
 *
 * The first two are checksums of counters that each owner keeps for itself.  One sequence number
 * of the pool would be simpler to compare, but each exchange and each free out of line would have
 * to write it, and all threads would fight over its line.  The counters cost their owners a plain
 * store, and only a thread that has found nothing pays for the sum.
 */
struct cpi_activity {
    uint64_t moves;
    uint64_t loaded;
    size_t left;
};

/* Any thread, wait-free. */
void cpi_await_activity(const struct cpi_registry *registry, struct cpi_activity *now);

/* Rounds that all caches show as loaded, and those that operations may have in
 * their hands: an estimate, rather too many than too few.  Any thread,
 * wait-free. */
size_t cpi_await_out_of_reach(const struct cpi_registry *registry);

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
 * Waits until every operation that is inside has left, or has been followed by another
 * one.  Returns false if patience ends before.
 */
bool cpi_await_inside(const struct cpi_registry *registry, struct cpi_backoff *backoff);

/* Waits until no operation is inside, and none that has given a slot back has still to
 * call a waiter, for as long as it takes.  Not a point of cancellation. */
void cpi_await_rest(const struct cpi_registry *registry);

#endif /* CPI_STEAL_H */
