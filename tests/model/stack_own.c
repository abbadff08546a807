/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_own.c - two threads pop a node, own it, and push it back, twice and once.
 *
 * Holds: the thread that has popped a node is its only owner and sees the last
 * owner's writes.  A pop fails only if all nodes are out.  None is lost.
 */
#define MODEL_NODES 2
#include "stack.h"

static void own_one(void)
{
    uint32_t node = model_pop();

    assert(node != 0);
    model_use(node);
    model_push(node);
}

static void once(void)
{
    own_one();
}

static void twice(void)
{
    own_one();
    own_one();
}

int main(void)
{
    model_fill();
    MODEL_RUN(once, twice);
    model_audit_full();
    assert(model_uses() == 3);
    return 0;
}
