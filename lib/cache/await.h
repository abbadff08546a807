/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * await.h - what other threads may have in their hands, and waiting for them.
 *
 * Includes registry.h (await.c: also mark.h, os.h).
 *
 * A thread that finds the pool dry must not miss a slot that moves while it looks.  It reads
 * the activity, looks, waits for every operation that is inside, and reads the activity
 * again (doc/CONCURRENCY.md, "Empty means empty").
 */
#ifndef CPI_AWAIT_H
#define CPI_AWAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/registry.h"

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

#endif /* CPI_AWAIT_H */
