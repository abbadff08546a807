/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tagstack.h - a lock-free stack of numbered nodes, safe against recycling.
 *
 * Includes atomic.h, compiler.h and <stdint.h> only, and calls nothing: a model
 * checker takes this file as it is.
 *
 *   head                          link of node 7        link of node 2
 *   +-----------+----------+      +---+                 +---+
 *   | tag (40)  | node 7   | ---> | 2 | --------------> | 0 | end
 *   +-----------+----------+      +---+                 +---+
 *
 * A Treiber stack (R. K. Treiber, "Systems programming: coping with parallelism", IBM 1986) of
 * indices instead of pointers, so that a version tag fits beside the index into one 64-bit word.
 * Every removal advances the tag and no insertion needs to: a pop that read a node's link can only
 * be deceived if that node was removed meanwhile, and then the tag differs (the ABA problem).  At
 * 34 million removals a second, which a bench has reached, a tag of 40 bits comes round after 8.9
 * hours.  A pop would have to be suspended for exactly a multiple of that many removals, between
 * two adjacent instructions of its own.  That has a chance of 2^-40 for each long stop.
 *
 * Node 0 does not exist: it ends the stack.  Links are atomic words that only
 * this file touches, in memory that outlives the stack, because a pop may read
 * the link of a node that somebody else has just removed.
 *
 * ORDERING TABLE
 *   top    | head load         | acquire | push popped | the node's link; the mark of the
 *                                                        party that emptied the stack
 *   popped | head CAS, success | acq_rel | push top again | the node and all that its pusher
 *                                                        had written into it; the popper's mark
 *   again  | head CAS, failure | acquire | push popped | as [top]
 *   push   | head CAS, success | release | top popped again | the node's link and content
 *   seen   | head load, and CAS failure in a push | relaxed | - | -
 *   link   | link load, store  | relaxed | - | -
 *   peek   | head load         | relaxed | - | -
 *
 * Why it is enough.  A link is read after an acquire of the head that names the node ([top],
 * [again]), so the read happens after the link's store before [push].  A later store to that
 * link, by a push after the node was removed, may be read instead, and the tag then makes the CAS
 * fail.  Heads change by read-modify-write alone, so each push heads a release sequence that goes
 * on through all later pushes and pops.  The thread that takes a node acquires from the push that
 * put it there, after any number of changes on top of it.
 *
 * A pop releases because the stack is not the only place of a node.  A thread that finds the stack
 * empty goes on to ask which parties are inside, with slots in their hands.  It acquires the pop
 * that emptied the stack, hence it sees the mark that the popping party set before (cache.h).
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
    _Atomic uint64_t head; /* tag above CPI_INDEX_BITS, index of the top node below */
};

/* Where the nodes' links lie: node i's at links + (i - 1) * stride bytes. */
struct cpi_links {
    char *links;
    size_t stride;
};

static inline _Atomic uint32_t *cpi_link(const struct cpi_links *links, uint32_t node)
{
    CPI_ASSERT(node != 0 && node <= CPI_INDEX_MAX);
    return (_Atomic uint32_t *)(void *)(links->links + (size_t)(node - 1) * links->stride);
}

/*
 * Pushes a node that is in no stack.  Returns how often it had to try again.  Lock-free.
 */
static inline uint32_t cpi_tagstack_push(struct cpi_tagstack *stack,
                                         const struct cpi_links *links, uint32_t node)
{
    uint64_t old = cpi_load(&stack->head, relaxed); /* [seen] */
    uint32_t retries = 0;

    for (;;) {
        CPI_ASSERT((old & CPI_INDEX_MASK) != node); /* it is in no stack */
        cpi_store(cpi_link(links, node), (uint32_t)(old & CPI_INDEX_MASK), relaxed); /* [link] */
        if (cpi_cas_weak(&stack->head, &old, (old & ~CPI_INDEX_MASK) | node, /* [push] */
                         release, relaxed))                                  /* [seen] */
            return retries;
        retries++;
    }
}

/*
 * Pops a node, or returns 0 if the stack is empty.  Adds to *retries how often it had to try
 * again.  Lock-free.
 */
static inline uint32_t cpi_tagstack_pop(struct cpi_tagstack *stack,
                                        const struct cpi_links *links, uint64_t *retries)
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
        ++*retries;
    }
}

/* The top node, for an estimate or while no other thread uses the stack, or 0 if it is empty. */
static inline uint32_t cpi_tagstack_top(const struct cpi_tagstack *stack)
{
    return (uint32_t)(cpi_load(&stack->head, relaxed) & CPI_INDEX_MASK); /* [peek] */
}

/* The node below, likewise. */
static inline uint32_t cpi_tagstack_below(const struct cpi_links *links, uint32_t node)
{
    return cpi_load(cpi_link(links, node), relaxed); /* [peek] */
}

/* Forgets all nodes at once.  The tag advances: it is a removal.  Nobody else
 * may be using the stack. */
static inline void cpi_tagstack_clear(struct cpi_tagstack *stack)
{
    uint64_t old = cpi_load(&stack->head, relaxed); /* [peek] */

    cpi_store(&stack->head, (old & ~CPI_INDEX_MASK) + CPI_TAG_ONE, relaxed); /* [peek] */
}

#endif /* CPI_TAGSTACK_H */
