/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_register.c - a thread registers its cache, takes a magazine of two slots out of the depot
 * and allocates one.  Meanwhile a thread without a cache looks for a slot.
 *
 * Holds: it finds the other one, in the depot or in a cache that it did not know.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#include "pool.h"

static void *owner(void *number)
{
    model_begin_lucky(number);
    model_register();
    return model_owner(number);
}

int main(void)
{
    model_open_pool(0, 0);
    model_stock(0, MODEL_SLOTS);
    MODEL_RUN(owner, model_looker);
    model_give_back(model_kept);
    model_audit_caches();
    return 0;
}
