/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pools.h - the typed pools of jobs and of result nodes.
 *
 * Includes allocator.h.
 */
#ifndef JOBS_POOLS_H
#define JOBS_POOLS_H

#include "allocator.h"

/* Each creates its pool with room for `capacity` nodes, and makes an allocator on it.
 * Returns 0 or a CPOOL_E... */
int pools_open_jobs(struct allocator *allocator, size_t capacity);
int pools_open_results(struct allocator *allocator, size_t capacity);

#endif /* JOBS_POOLS_H */
