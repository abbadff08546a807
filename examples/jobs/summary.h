/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * summary.h - what is left of a count once its nodes are given back: the totals
 * and the most frequent identifiers.  Two counts of one tree have equal
 * summaries.
 *
 * Includes tally.h and text.h.
 */
#ifndef JOBS_SUMMARY_H
#define JOBS_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tally.h"
#include "text.h"

/* The largest number of most frequent identifiers. */
#define SUMMARY_TOP_MAX 100u

struct summary_entry {
    uint64_t count;
    size_t length;                /* bytes in text */
    char text[IDENTIFIER_LENGTH]; /* not terminated */
};

struct summary {
    uint64_t files;
    uint64_t directories;
    uint64_t lines;
    uint64_t bytes;
    uint64_t words[WORDS_RULES];
    uint64_t occurrences; /* of identifiers, all together */
    uint64_t different;   /* identifiers */
    unsigned wanted;      /* entries of top to fill, up to SUMMARY_TOP_MAX */
    unsigned filled;      /* entries filled */
    struct summary_entry top[SUMMARY_TOP_MAX]; /* by count, then by name */
};

/* An empty summary that keeps `wanted` identifiers. */
void summary_init(struct summary *summary, unsigned wanted);

/* Adds an identifier, which has not been added before, with all its count. */
void summary_offer(struct summary *summary, const char *text, size_t length, uint64_t count);

/* The summary of a tally.  That of NULL is empty. */
void summary_of_tally(struct summary *summary, unsigned wanted, const struct tally *tally);

/* Returns true if two counts agree in everything. */
bool summary_equal(const struct summary *a, const struct summary *b);

#endif /* JOBS_SUMMARY_H */
