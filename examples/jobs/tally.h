/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tally.h - what was counted in a part of the tree: a piece of a file, a file,
 * a directory with all below it.
 *
 * A tally is a result node, and so are the nodes of its table of identifiers.
 * Both are taken from the results allocator.  A node of it holds either.
 * Tallies of parts are consumed in making that of the whole.
 *
 * Directories are summed up by many workers at once without a lock: each puts
 * its tally into the directory's one place, and if another is parked there,
 * takes it out, adds the two, and tries again with the sum.
 *
 *     place [ NULL ]  <- my tally              done
 *     place [ his  ]  -> mine + his  <- again
 *
 * Includes allocator.h, frequency.h and text.h.
 *
 * ORDERING TABLE
 *   park    | place compare-and-swap, success | release | collect | the whole tally
 *   collect | place exchange                  | acquire | park    | -
 *   taken   | place compare-and-swap, failure | relaxed | -       | -
 */
#ifndef JOBS_TALLY_H
#define JOBS_TALLY_H

#include <stdio.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "allocator.h"
#include "frequency.h"
#include "text.h"

struct tally {
    struct text_counts counts;
    uint64_t files;
    uint64_t directories;
    struct frequency identifiers;
};

/* Where tallies of one directory meet. */
typedef _Atomic(struct tally *) tally_place;

/* Any kind of result node. */
union tally_node {
    struct tally tally;
    struct frequency_node identifier;
};

/* Takes an empty tally, or returns NULL when there is no node. */
struct tally *tally_create(struct allocator *results);

/* Gives it back, with its table.  NULL is a no-op. */
void tally_destroy(struct tally *tally, struct allocator *results);

/* Counts a piece of a file.  text is as in text_piece_init.  False when there
 * is no node for an identifier. */
bool tally_count(struct tally *tally, struct allocator *results, struct text_piece *piece);

/* Appends the piece of file that comes directly after.  Either may be NULL, and
 * is then left out.  Consumes both, returns the whole. */
struct tally *tally_join(struct tally *left, struct tally *right, struct allocator *results);

/* Adds a tally to a place.  NULL is a no-op. */
void tally_deposit(tally_place *place, struct tally *tally, struct allocator *results);

/* Takes the tally in a place, when no thread deposits any more.  NULL if there is none. */
struct tally *tally_collect(tally_place *place);

#endif /* JOBS_TALLY_H */
