/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree_job.h - the node of every job that counts a tree, and the functions that
 * tree.c (directories) and file.c (files and pieces of them) share.
 *
 * The scheduler publishes the writes of a job's parts into its node to its
 * continuation (join, in scheduler.c).  So the nodes need no atomics of their
 * own, except where children of one job meet.
 *
 * Includes tree.h.
 *
 * ORDERING TABLE
 *   notice | dry, bytes, result_nodes in the tree, error in a file's node |
 *            relaxed | - | hints and sums: the join orders everything else
 */
#ifndef JOBS_TREE_JOB_H
#define JOBS_TREE_JOB_H

#include <dirent.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tree.h"

/* Room for a file name with its end.  Longer ones are left out, and named. */
#define NAME_ROOM 256

/* Bytes of scratch memory: the byte before a piece, the piece, and the bytes
 * that an identifier that starts in it may go on into. */
#define SCRATCH_SIZE (1 + TREE_CHUNK + IDENTIFIER_LENGTH)

/* Data that all jobs of one run share. */
struct tree {
    const struct tree_plan *plan;
    struct skipped *skipped;
    tally_place total;
    atomic_bool dry; /* result nodes are out: jobs only finish */
    _Atomic uint64_t bytes;
    _Atomic uint64_t result_nodes;
};

struct directory_job {
    DIR *stream;    /* NULL when it could not be opened */
    int descriptor; /* of the stream */
    dev_t device;
    ino_t inode;
    tally_place sum;
};

struct file_job {
    int descriptor;   /* -1 when it could not be opened */
    atomic_int error; /* errno of an attempt to read, or 0 */
    struct tally *sum;
};

struct range_job {
    struct tree_job *file;
    off_t begin;
    off_t end;
    struct tally *half[2]; /* written by the halves; or the whole as the first */
    struct tally **whole;  /* in the parent: where to put what the halves give */
};

struct tree_job {
    struct job job; /* first: the scheduler knows only this */
    struct tree *tree;
    union {
        struct directory_job directory;
        struct file_job file;
        struct range_job range;
    };
    char name[NAME_ROOM]; /* of a file or directory within its parent; the first
                             directory's is empty, see tree_plan.path */
};

static inline struct tree_job *tree_job_of(struct job *job)
{
    return (struct tree_job *)(void *)job;
}

/* ---- tree.c ---- */

/* Notes that a job's file or directory cannot be read, and why. */
void tree_skip(struct tree_job *job, enum skip_kind kind, int error);

/* True if result nodes have run out: then there is nothing left to do but to
 * come to an end. */
bool tree_is_dry(struct tree *tree);
void tree_set_dry(struct tree *tree);

/* Takes a tally.  Returns NULL, and the tree is dry, when there is none. */
struct tally *tree_new_tally(struct tree *tree);

/* ---- file.c ---- */

/* Makes a job of a regular file in a directory.  name is shorter than NAME_ROOM. */
void file_submit(struct worker *worker, struct tree_job *directory, const char *name);

#endif /* JOBS_TREE_JOB_H */
