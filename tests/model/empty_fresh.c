/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_fresh.c - an owner claims two fresh slots and allocates one, another thread
 * claims all the others, and a third one looks for a slot.
 *
 * Holds: it finds one, fresh or in the owner's cache.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 32 /* a sixteenth of them is claimed at once */
#include "pool.h"

/* Leaves two, for the owner and for the thread that looks. */
static void *claimer(void *number)
{
    static uintptr_t first;
    size_t others = MODEL_SLOTS - 2;

    model_begin(number);
    __VERIFIER_assume(model_claim(others, &first) == others);
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {model_owner, model_looker, claimer};

    model_open_pool(1, MODEL_SLOTS);
    model_run(3, bodies);
    return 0;
}
