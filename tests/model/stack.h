/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack.h - one tagged stack of a few nodes with a payload each.
 *
 * Beside the stack stands owned[]: a node's payload is touched by its owner
 * alone, plainly.
 */
#ifndef MODEL_STACK_H
#define MODEL_STACK_H

#include "model.h"

#ifndef MODEL_NODES
#define MODEL_NODES 3
#endif

struct model_node {
    _Atomic uint32_t link;
    int payload;
};

static struct model_node model_nodes[MODEL_NODES];
static const struct cpi_links model_links = {(char *)model_nodes, sizeof(struct model_node)};
static struct cpi_tagstack model_stack;

static inline void model_push(uint32_t node)
{
    cpi_tagstack_push(&model_stack, &model_links, node);
}

static inline uint32_t model_pop(void)
{
    return cpi_tagstack_pop(&model_stack, &model_links);
}

/* An owner's actions on its node. */
static inline void model_use(uint32_t node)
{
    model_nodes[node - 1].payload++;
}

/* All nodes on the stack, 1 on top. */
static inline void model_fill(void)
{
    for (uint32_t node = MODEL_NODES; node != 0; node--)
        model_push(node);
}

/* In the end and once.  The nodes that threads kept have been pushed. */
static inline void model_audit_full(void)
{
    static int seen[MODEL_NODES + 1];

    assert(model_count(&model_stack, &model_links, MODEL_NODES, seen) == MODEL_NODES);
}

/* How often nodes were used in all. */
static inline int model_uses(void)
{
    int node, uses = 0;

    for (node = 0; node < MODEL_NODES; node++)
        uses += model_nodes[node].payload;
    return uses;
}

#endif /* MODEL_STACK_H */
