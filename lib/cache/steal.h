/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steal.h - taking rounds back from other threads' caches when the pool is dry.
 *
 * Includes registry.h (steal.c: also mark.h).
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
 */
#ifndef CPI_STEAL_H
#define CPI_STEAL_H

#include <stdbool.h>

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

#endif /* CPI_STEAL_H */
