/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_handoff.c - what one thread writes into a node before it pushes it is
 * seen by the thread that pops it, even when a third one has pushed on top of
 * it meanwhile: the release sequence of a push goes on through all later pushes
 * and pops.
 */
#define MODEL_NODES 2
#include "stack.h"

static uint32_t last[2];

static void give(uint32_t node)
{
    model_use(node);
    model_push(node);
}

static void give_1(void)
{
    give(1);
}

static void give_2(void)
{
    give(2);
}

static void taker(void)
{
    for (int i = 0; i < 2; i++) {
        last[i] = model_pop();
        if (last[i] != 0)
            model_use(last[i]);
    }
}

int main(void)
{
    int i, taken = 0;

    MODEL_RUN(give_1, give_2, taker);
    for (i = 0; i < 2; i++) {
        if (last[i] != 0) {
            taken++;
            model_push(last[i]);
        }
    }
    model_audit_full();
    assert(model_uses() == 2 + taken);
    return 0;
}
