/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lines.h - a text counted frame by frame, by a job for each line.
 *
 *     frame --+-- piece --+-- line     A frame is a slice of the text.  A line's job
 *             +-- piece   +-- line     counts it into a result node, and puts that in
 *             ...         ...          the list of its piece.
 *
 * The results of a frame are read in the next one, as those of a game's frame are: the
 * job of a piece first sums up the list that the same piece left in the frame before, and
 * frees its nodes.  So half of all result nodes are freed by another worker than the one
 * that allocated them, and the nodes of two frames are live.
 *
 * Includes allocator.h, corpus.h, replay.h and scheduler.h.
 */
#ifndef JOBS_LINES_H
#define JOBS_LINES_H

#include <stdio.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator.h"
#include "corpus.h"
#include "replay.h"
#include "scheduler.h"

struct lines;

/* The node of a job: a frame, a piece or a line. */
struct line_job {
    struct job job; /* first */
    struct lines *lines;
    const unsigned char *text; /* of a line */
    uint32_t length;
    uint32_t piece; /* within its frame */
    uint32_t number; /* for a recorder */
};

/* The node of a line's result. */
struct line_result {
    struct line_result *next;
    struct text_counts counts;
    uint32_t number; /* for a recorder */
};

struct lines_plan {
    const struct corpus *corpus;
    unsigned threads;
    struct allocator *jobs;    /* nodes of struct line_job */
    struct allocator *results; /* nodes of struct line_result */
    unsigned warm_up;          /* the first frames, which are not timed */
    unsigned frames;           /* at most, after these */
    double seconds;            /* no frame begins after so long */
    struct recorder *recorder; /* which the workers join, or NULL */
};

struct lines_outcome {
    unsigned frames;      /* that were timed */
    uint64_t jobs;        /* in these */
    double seconds;       /* of these */
    double *milliseconds; /* of each.  The caller has made it, plan.frames of them */
    bool right;           /* all frames' counts are what one thread counted */
    bool dry;             /* an allocator had no node for a result */
    uint64_t inlined;     /* jobs that ran in place, because there was no node */
};

/* Runs the frames.  Returns 0, or an errno value when no worker could be started. */
int lines_run(const struct lines_plan *plan, struct lines_outcome *outcome);

#endif /* JOBS_LINES_H */
