/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tagstack.h - a lock-free stack of numbered nodes that may be reused.
 *
 * Includes atomic.h, compiler.h and <stdint.h> only, and calls nothing, so that a model checker can
 * use this file unchanged.
 *
 *   head                          link of node 7        link of node 2
 *   +-----------+----------+      +---+                 +---+
 *   | tag (40)  | node 7   | ---> | 2 | --------------> | 0 | end
 *   +-----------+----------+      +---+                 +---+
 *
 * A Treiber stack of indices instead of pointers, so that an index and a version tag fit into one
 * 64-bit word.  Every removal advances the tag.  There is no node 0: it ends the stack.  Links are
 * atomic words that only this file touches, in memory that outlives the stack.
 * doc/CONCURRENCY.md 3.1 argues why no node is popped twice, and why these orders are enough.
 *
 * ORDERING TABLE
 *   top    | head load         | acquire | push popped | the node's link; the last popper's mark
 *   popped | head CAS, success | acq_rel | push top again | node and content; the popper's mark
 *   again  | head CAS, failure | acquire | push popped | what [top] publishes
 *   push   | head CAS, success | release | top popped again | the node's link and content
 *   seen   | head load, and CAS failure in a push | relaxed | - | -
 *   link   | link load, store  | relaxed | - | -
 *   peek   | head load         | relaxed | - | -
 */
#ifndef CPI_TAGSTACK_H
#define CPI_TAGSTACK_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

#define CPI_INDEX_BITS 24
#define CPI_INDEX_MASK (((uint64_t)1 << CPI_INDEX_BITS) - 1)
#define CPI_TAG_ONE ((uint64_t)1 << CPI_INDEX_BITS)

/* The largest index a node can have. */
#define CPI_INDEX_MAX ((uint32_t)CPI_INDEX_MASK)

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2,
               "the stacks need a lock-free compare-and-swap of 64 bits");

struct cpi_tagstack {
    _Atomic uint64_t head; /* the tag, above CPI_INDEX_BITS of the top node's index */
};

/* Where the links lie: the link of node i is at links + (i - 1) * stride bytes. */
struct cpi_links {
    char *links;
    size_t stride;
};

static inline _Atomic uint32_t *cpi_link(const struct cpi_links *links, uint32_t node)
{
    CPI_ASSERT(node != 0 && node <= CPI_INDEX_MAX);
    return (_Atomic uint32_t *)(void *)(links->links + (size_t)(node - 1) * links->stride);
}

/* Pushes a node that is in no stack.  Lock-free. */
static inline void cpi_tagstack_push(struct cpi_tagstack *stack, const struct cpi_links *links,
                                     uint32_t node)
{
    uint64_t old = cpi_load(&stack->head, relaxed); /* [seen] */

    for (;;) {
        CPI_ASSERT((old & CPI_INDEX_MASK) != node); /* the node is in no stack */
        cpi_store(cpi_link(links, node), (uint32_t)(old & CPI_INDEX_MASK), relaxed); /* [link] */
        if (cpi_cas_weak(&stack->head, &old, (old & ~CPI_INDEX_MASK) | node, /* [push] */
                         release, relaxed))                                  /* [seen] */
            return;
    }
}

/* Pops a node, or returns 0 if the stack is empty.  Lock-free. */
static inline uint32_t cpi_tagstack_pop(struct cpi_tagstack *stack, const struct cpi_links *links)
{
    uint64_t old = cpi_load(&stack->head, acquire); /* [top] */

    for (;;) {
        uint32_t node = (uint32_t)(old & CPI_INDEX_MASK);
        uint64_t next;

        if (node == 0)
            return 0;
        next = cpi_load(cpi_link(links, node), relaxed); /* [link] */
        CPI_ASSERT(next != node && next <= CPI_INDEX_MAX);
        if (cpi_cas_weak(&stack->head, &old,
                         ((old & ~CPI_INDEX_MASK) + CPI_TAG_ONE) | next, /* [popped] */
                         acq_rel, acquire))                              /* [again] */
            return node;
    }
}

/* The top node, or 0 if the stack is empty.  An estimate, unless no other thread uses the stack. */
static inline uint32_t cpi_tagstack_top(const struct cpi_tagstack *stack)
{
    return (uint32_t)(cpi_load(&stack->head, relaxed) & CPI_INDEX_MASK); /* [peek] */
}

/* The node below, or 0.  An estimate, unless no other thread uses the stack. */
static inline uint32_t cpi_tagstack_below(const struct cpi_links *links, uint32_t node)
{
    return cpi_load(cpi_link(links, node), relaxed); /* [peek] */
}

/* Removes all nodes at once, so the tag advances.  Nobody else may be using the stack. */
static inline void cpi_tagstack_clear(struct cpi_tagstack *stack)
{
    uint64_t old = cpi_load(&stack->head, relaxed); /* [peek] */

    cpi_store(&stack->head, (old & ~CPI_INDEX_MASK) + CPI_TAG_ONE, relaxed); /* [peek] */
}

#endif /* CPI_TAGSTACK_H */
