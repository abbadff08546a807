/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_aba.c - the ABA problem: while one thread pops, another pops two nodes
 * and pushes the first of them back.
 *
 *   1 -> 2 -> 3      pop sees 1 and its link, 2
 *   1 -> 3           meanwhile: 2 belongs to the other thread
 *
 * Holds: the pop does not succeed with the outdated link.  Two removals lie
 * between, so that a tag of one bit is deceived as well as none.
 */
#define MODEL_NODES 3
#include "stack.h"

static uint32_t popped;
static uint32_t kept;

static void victim(void)
{
    popped = model_pop();
    assert(popped != 0);
    model_use(popped);
}

static void recycler(void)
{
    uint32_t first;

    first = model_pop();
    kept = model_pop();
    assert(first != 0 && kept != 0);
    model_use(first);
    model_use(kept);
    model_push(first);
}

int main(void)
{
    model_fill();
    MODEL_RUN(victim, recycler);
    model_push(popped);
    model_push(kept);
    model_audit_full();
    assert(model_uses() == 3);
    return 0;
}
