/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * addresses.c - the radix tree.
 *
 * ORDERING TABLE
 *   show | entry store | release | look | the node's entries; the pool's descriptor
 *   look | entry load  | acquire | show | the node's entries; the pool's descriptor
 *   own  | entry load, and store into a node that no entry leads to | relaxed | - | -
 *
 * Entries are written with the lock held.
 */
#include "process/addresses.h"

#include "base/atomic.h"
#include "host/os.h"

#define CPI_NODE_BITS 6u
#define CPI_NODE_ENTRIES ((size_t)1 << CPI_NODE_BITS)

/* In an entry that points to a node. */
#define CPI_IS_NODE ((uintptr_t)1)

/* The number of levels, including the root, and the bits of an address below an entry of the root.
 * An entry of the last level covers CPI_RANGES_UNIT bytes. */
#define CPI_LEVELS (sizeof(void *) >= 8 ? 6u : 4u)
#define CPI_ROOT_SHIFT (sizeof(void *) >= 8 ? 36u : 24u)
#define CPI_ROOT_ENTRIES ((size_t)1 << (sizeof(void *) >= 8 ? 12 : 8))

/* Nodes mapped at a time: less than 16 KiB, including the link.  The first ones are static, so that
 * a few pools in the caller's memory need no mapping. */
#define CPI_CHUNK_NODES 31u

typedef _Atomic uintptr_t entry_t;

struct node {
    entry_t entries[CPI_NODE_ENTRIES];
};

struct chunk {
    struct node nodes[CPI_CHUNK_NODES];
    struct chunk *next;
};

static entry_t root[CPI_ROOT_ENTRIES];

/* Guarded by the lock. */
static struct chunk first_chunk;
static struct chunk *chunks = &first_chunk;
static size_t carved; /* nodes of the latest chunk that have ever been used */
static struct node *spare_nodes; /* linked by their first entries; their other entries are 0 */
static size_t used_nodes;

static unsigned shift_of(unsigned level)
{
    return CPI_ROOT_SHIFT - CPI_NODE_BITS * level;
}

static size_t index_of(uintptr_t address, unsigned level)
{
    size_t index = (size_t)(address >> shift_of(level));

    return level == 0 ? index : index % CPI_NODE_ENTRIES;
}

/* Whether the tree covers this address. */
static bool is_covered(uintptr_t address)
{
    return index_of(address, 0) < CPI_ROOT_ENTRIES;
}

static bool is_node(uintptr_t word)
{
    return (word & CPI_IS_NODE) != 0;
}

static struct node *node_of(uintptr_t word)
{
    return (struct node *)(word - CPI_IS_NODE);
}

static struct node *carve_node(void)
{
    struct chunk *chunk;

    if (carved == CPI_CHUNK_NODES) {
        chunk = cpi_os_map(sizeof *chunk);
        if (chunk == NULL)
            return NULL;
        chunk->next = chunks;
        chunks = chunk;
        carved = 0;
    }
    return &chunks->nodes[carved++];
}

/* A node with all entries 0, or NULL. */
static struct node *take_node(void)
{
    struct node *node = spare_nodes;

    if (node == NULL) {
        node = carve_node();
    } else {
        spare_nodes = (struct node *)cpi_load(&node->entries[0], relaxed); /* [own] */
        cpi_store(&node->entries[0], 0, relaxed);                          /* [own] */
    }
    if (node != NULL)
        used_nodes++;
    return node;
}

/* A thread that is still reading the node may take the link for a handle, but it is not the address
 * of a descriptor. */
static void give_node(struct node *node)
{
    cpi_store(&node->entries[0], (uintptr_t)spare_nodes, relaxed); /* [own] */
    spare_nodes = node;
    used_nodes--;
}

static bool is_node_empty(const struct node *node)
{
    for (size_t i = 0; i < CPI_NODE_ENTRIES; i++)
        if (cpi_load(&node->entries[i], relaxed) != 0) /* [own] */
            return false;
    return true;
}

/* The node below an entry, created if necessary. */
static struct node *node_below(entry_t *entry)
{
    uintptr_t word = cpi_load(entry, relaxed); /* [own] */
    struct node *node;

    if (is_node(word))
        return node_of(word);
    node = take_node();
    if (node != NULL)
        cpi_store(entry, (uintptr_t)node + CPI_IS_NODE, release); /* [show] */
    return node;
}

/* Sets all entries in [from, last] to the handle, or clears those that equal it. */
struct change {
    uintptr_t from;
    uintptr_t last; /* the address of the last byte: there may be none after it */
    uintptr_t handle;
};

/* The part of a change below the i-th entry of a node, in which the change covers the entries from
 * `first` to `last`. */
static struct change part_of(const struct change *change, size_t first, size_t last, size_t i,
                             unsigned level)
{
    uintptr_t below = ((uintptr_t)1 << shift_of(level)) - 1;
    struct change part = *change;

    if (i > first)
        part.from = (change->from & ~below) + ((uintptr_t)(i - first) << shift_of(level));
    if (i < last)
        part.last = part.from | below;
    return part;
}

/* Whether the change covers everything below the i-th entry. */
static bool is_whole(const struct change *change, size_t first, size_t last, size_t i,
                     unsigned level)
{
    uintptr_t below = ((uintptr_t)1 << shift_of(level)) - 1;

    return (i > first || (change->from & below) == 0) &&
           (i < last || (change->last & below) == below);
}

static bool set_range(entry_t *entries, unsigned level, const struct change *change)
{
    size_t first = index_of(change->from, level);
    size_t last = index_of(change->last, level);

    for (size_t i = first; i <= last; i++) {
        uintptr_t word = cpi_load(&entries[i], relaxed); /* [own] */
        struct change part;
        struct node *node;

        if (!is_node(word) && is_whole(change, first, last, i, level)) {
            cpi_store(&entries[i], change->handle, release); /* [show] */
            continue;
        }
        part = part_of(change, first, last, i, level);
        node = node_below(&entries[i]);
        if (node == NULL || !set_range(node->entries, level + 1, &part))
            return false;
    }
    return true;
}

static void clear_range(entry_t *entries, unsigned level, const struct change *change)
{
    size_t first = index_of(change->from, level);
    size_t last = index_of(change->last, level);

    for (size_t i = first; i <= last; i++) {
        uintptr_t word = cpi_load(&entries[i], relaxed); /* [own] */

        if (is_node(word)) {
            struct change part = part_of(change, first, last, i, level);

            clear_range(node_of(word)->entries, level + 1, &part);
            if (is_node_empty(node_of(word))) {
                cpi_store(&entries[i], 0, release); /* [show] */
                give_node(node_of(word));
            }
        } else if (word == change->handle) {
            cpi_store(&entries[i], 0, release); /* [show] */
        }
    }
}

/* Finds the pool with a slot around an address by checking all pools. */
CPI_COLD static cpool_t *search_handles(uintptr_t address)
{
    uintptr_t slot;

    for (size_t i = 1; i < cpi_handle_count(); i++)
        if (cpi_handle_slot_around(&cpi_handles()->handles[i], address, &slot) != UINTPTR_MAX)
            return &cpi_handles()->handles[i];
    return NULL;
}

CPI_COLD bool cpi_ranges_add(cpool_t *handle, uintptr_t from, uintptr_t to)
{
    struct change change = {from, to - 1, (uintptr_t)handle};

    CPI_ASSERT(from < to && from % CPI_RANGES_UNIT == 0 && to % CPI_RANGES_UNIT == 0);
    if (!is_covered(to - 1) || cpi_ranges_find(from) != NULL || set_range(root, 0, &change))
        return true;
    cpi_ranges_remove(handle, from, to);
    return false;
}

CPI_COLD void cpi_ranges_remove(cpool_t *handle, uintptr_t from, uintptr_t to)
{
    struct change change = {from, to - 1, (uintptr_t)handle};

    if (is_covered(to - 1))
        clear_range(root, 0, &change);
}

cpool_t *cpi_ranges_find(uintptr_t address)
{
    entry_t *entries = root;

    if (CPI_UNLIKELY(!is_covered(address)))
        return search_handles(address);
    for (unsigned level = 0; level < CPI_LEVELS; level++) {
        uintptr_t word = cpi_load(&entries[index_of(address, level)], acquire); /* [look] */

        if (!is_node(word))
            return (cpool_t *)word;
        entries = node_of(word)->entries;
    }
    return NULL; /* the nodes were reused in the meantime */
}

size_t cpi_ranges_nodes(void)
{
    return used_nodes;
}

CPI_COLD void cpi_ranges_release(void)
{
    CPI_ASSERT(used_nodes == 0);
    while (chunks != &first_chunk) {
        struct chunk *next = chunks->next;

        cpi_os_release(chunks, sizeof *chunks);
        chunks = next;
    }
    for (size_t i = 0; i < CPI_CHUNK_NODES; i++)
        cpi_store(&first_chunk.nodes[i].entries[0], 0, relaxed); /* [own] */
    carved = 0;
    spare_nodes = NULL;
}
