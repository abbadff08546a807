/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frequency.h - how often each identifier occurs: a table made of nodes only.
 *
 * A trie over the hash: two bits of it choose one of four children at every
 * level, and each node carries one identifier, whichever came there first.
 *
 *                  [ struct : 7 ]
 *             00 /    01 |  10 \    11 \
 *         [ int : 9 ]   NULL  [ x : 1 ]  NULL
 *
 * There is no array that would have to grow.  A table is as many nodes as it
 * has different identifiers, each taken from the allocator.  Two tables are
 * merged by relinking the nodes of the smaller one.
 *
 * A table belongs to one thread at a time.  Includes allocator.h and text.h.
 */
#ifndef JOBS_FREQUENCY_H
#define JOBS_FREQUENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator.h"
#include "text.h"

#define FREQUENCY_CHILDREN 4

struct frequency_node {
    struct frequency_node *child[FREQUENCY_CHILDREN];
    struct frequency_node *next; /* list of those still to be merged */
    uint64_t hash;
    uint64_t count;
    uint8_t length;               /* bytes in text */
    char text[IDENTIFIER_LENGTH]; /* not terminated */
};

struct frequency {
    struct frequency_node *root;
    size_t nodes; /* different identifiers */
};

/* Makes an empty table. */
void frequency_init(struct frequency *table);

/* Counts one occurrence.  length is 1 to IDENTIFIER_LENGTH.  False when the
 * allocator has no node for it. */
bool frequency_count(struct frequency *table, struct allocator *nodes, const void *text,
                     size_t length);

/* Adds `other` to the table, and leaves `other` empty. */
void frequency_merge(struct frequency *table, struct allocator *nodes, struct frequency *other);

/* Gives all nodes back. */
void frequency_clear(struct frequency *table, struct allocator *nodes);

/* Calls visit for every identifier, in no particular order.  visit may not
 * change the table. */
void frequency_visit(const struct frequency *table,
                     void (*visit)(const struct frequency_node *node, void *context),
                     void *context);

#endif /* JOBS_FREQUENCY_H */
