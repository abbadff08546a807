/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frequency.c - see frequency.h.
 *
 * Whole tables are walked without recursion, by a list threaded through the
 * nodes, so that no input, however its hashes collide, exhausts the stack.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "frequency.h"

#include <string.h>

/* One step of the hash.  Any odd constant with bits that look random will do.
 * This one is 2^64 divided by the golden ratio. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t hash_of(const unsigned char *text, size_t length)
{
    uint64_t hash = length;
    uint64_t word;

    for (; length > sizeof word; text += sizeof word, length -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = mix(hash, word);
    }
    word = 0;
    memcpy(&word, text, length);
    return mix(mix(hash, word), 0); /* the last step brings low bits up */
}

static bool same(const struct frequency_node *node, uint64_t hash, const void *text,
                 size_t length)
{
    return node->hash == hash && node->length == length &&
           memcmp(node->text, text, length) == 0;
}

/* The link that leads to the identifier's node, or the NULL where it belongs. */
static struct frequency_node **find(struct frequency *table, uint64_t hash, const void *text,
                                    size_t length)
{
    struct frequency_node **link = &table->root;
    uint64_t bits = hash;

    for (; *link != NULL && !same(*link, hash, text, length); bits <<= 2)
        link = &(*link)->child[bits >> 62];
    return link;
}

void frequency_init(struct frequency *table)
{
    table->root = NULL;
    table->nodes = 0;
}

/* Hangs a node without children into the table. */
static void attach(struct frequency *table, struct frequency_node **link,
                   struct frequency_node *node)
{
    for (int i = 0; i < FREQUENCY_CHILDREN; i++)
        node->child[i] = NULL;
    node->next = NULL;
    *link = node;
    table->nodes++;
}

bool frequency_count(struct frequency *table, struct allocator *nodes, const void *text,
                     size_t length)
{
    uint64_t hash = hash_of(text, length);
    struct frequency_node **link = find(table, hash, text, length);
    struct frequency_node *node = *link;

    if (node != NULL) {
        node->count++;
        return true;
    }
    node = nodes->alloc(nodes);
    if (node == NULL)
        return false;
    node->hash = hash;
    node->count = 1;
    node->length = (uint8_t)length;
    memcpy(node->text, text, length);
    attach(table, link, node);
    return true;
}

/* Puts a node's children in front of a list. */
static struct frequency_node *unfold(const struct frequency_node *node,
                                     struct frequency_node *list)
{
    for (int i = 0; i < FREQUENCY_CHILDREN; i++) {
        struct frequency_node *child = node->child[i];

        if (child != NULL) {
            child->next = list;
            list = child;
        }
    }
    return list;
}

/* Adds a node that belongs to no table any more. */
static void absorb(struct frequency *table, struct allocator *nodes, struct frequency_node *node)
{
    struct frequency_node **link = find(table, node->hash, node->text, node->length);

    if (*link == NULL) {
        attach(table, link, node);
    } else {
        (*link)->count += node->count;
        nodes->free(nodes, node);
    }
}

void frequency_merge(struct frequency *table, struct allocator *nodes, struct frequency *other)
{
    struct frequency_node *list;

    if (table->nodes < other->nodes) { /* the smaller one is the one to take apart */
        struct frequency larger = *other;

        *other = *table;
        *table = larger;
    }
    list = other->root;
    while (list != NULL) {
        struct frequency_node *node = list;

        list = unfold(node, node->next);
        absorb(table, nodes, node);
    }
    frequency_init(other);
}

void frequency_clear(struct frequency *table, struct allocator *nodes)
{
    struct frequency_node *list = table->root;

    while (list != NULL) {
        struct frequency_node *node = list;

        list = unfold(node, node->next);
        nodes->free(nodes, node);
    }
    frequency_init(table);
}

void frequency_visit(const struct frequency *table,
                     void (*visit)(const struct frequency_node *node, void *context),
                     void *context)
{
    struct frequency_node *list = table->root;

    while (list != NULL) {
        struct frequency_node *node = list;

        list = unfold(node, node->next);
        visit(node, context);
    }
}
