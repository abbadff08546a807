/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernels.h - the programs by which task systems measure themselves: tiny jobs, and nothing
 * between them but the scheduler and the allocator.
 */
#ifndef JOBS_KERNELS_H
#define JOBS_KERNELS_H

#include <stdbool.h>

#include "options.h"

/* Returns true if there is a kernel of this name, or if it is "all". */
bool kernels_know(const char *name);

/*
 * Runs options->kernel, options->repeat times each with a typed pool, a pool by its handle,
 * and malloc, in turns.  Verifies each result, and prints the medians.
 */
enum status kernels_run(const struct options *options);

#endif /* JOBS_KERNELS_H */
