/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recount.h - counts a tree again, the simple way: one thread, one byte after
 * the other, nftw and <ctype.h>.  It shares no code with what it verifies.
 *
 * Includes summary.h.
 */
#ifndef JOBS_RECOUNT_H
#define JOBS_RECOUNT_H

#include <stdbool.h>

#include "summary.h"

/* Counts everything below a directory that can be read.  Not from several
 * threads at once.  False when there is no memory. */
bool recount(const char *path, unsigned wanted, struct summary *summary);

#endif /* JOBS_RECOUNT_H */
