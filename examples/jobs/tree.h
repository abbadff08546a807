/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.h - counts a directory tree by jobs that make jobs.
 *
 *     directory --+-- file (small: read and counted at once)
 *                 +-- file -- range --+-- range --+-- range    64 KiB each
 *                 |                   |           +-- range
 *                 |                   +-- range ...
 *                 +-- directory ...
 *
 * Every box is a job.  Its continuation puts the tally of everything below it
 * into its parent.  Ranges are joined in the order of the text, so that no word
 * and no identifier is cut at a border.  Directories are summed up in any
 * order.
 *
 * Symbolic links are not followed (except the path itself), and only regular
 * files are read, as by `find PATH/ -type f`.  A file is taken to be as long
 * as it is said to be when it is opened.
 *
 * Includes allocator.h, scheduler.h, skipped.h and tally.h.
 */
#ifndef JOBS_TREE_H
#define JOBS_TREE_H

#include <stdbool.h>
#include <stdio.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator.h"
#include "scheduler.h"
#include "skipped.h"
#include "tally.h"

/* Bytes of a file that are one job. */
#define TREE_CHUNK ((size_t)64 * 1024)

struct tree_plan {
    const char *path;          /* a directory */
    unsigned threads;          /* workers, 1 to SCHEDULER_THREADS_MAX */
    struct allocator *jobs;    /* nodes of tree_job_size() bytes */
    struct allocator *results; /* nodes as union tally_node */

    /* Called now and then while it runs, with the progress so far.  It may be NULL. */
    void (*watch)(const struct scheduler_figures *figures, uint64_t bytes, void *context);
    void *context;
};

struct tree_outcome {
    struct tally *total;   /* NULL when nothing could be counted */
    bool dry;              /* result nodes were out: the total is not complete */
    uint64_t result_nodes; /* result nodes taken in all */
    double seconds;        /* from start to end */
    struct scheduler_figures figures;
    struct skipped skipped;
};

/* Bytes of a job node. */
size_t tree_job_size(void);

/*
 * Sets how many files the process may have open.  Each directory is open from
 * when it is read until all below it is done: about as many at once as the tree
 * is deep, for each worker.  Files that cannot be opened are left out, and
 * named.
 */
void tree_set_descriptor_limit(void);

/*
 * Counts.  Returns 0, or an errno value when no worker could be started.  The
 * outcome is then empty.  To be ended by tree_outcome_fini in either case.
 */
int tree_count(const struct tree_plan *plan, struct tree_outcome *outcome);

/* Gives the total's nodes back. */
void tree_outcome_fini(struct tree_outcome *outcome, struct allocator *results);

#endif /* JOBS_TREE_H */
