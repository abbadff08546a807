/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_uncached.c - a thread without a cache takes a slot out of a full magazine of the depot, and
 * leaves the rest as the partial one.  Meanwhile another one looks for a slot.
 *
 * Holds: it finds the other one.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#include "pool.h"

static void *taker(void *number)
{
    model_begin(number);
    model_kept = model_take();
    return model_end();
}

int main(void)
{
    model_open_pool(0, 0);
    model_stock(0, MODEL_SLOTS);
    MODEL_RUN(taker, model_looker);
    model_give_back(model_kept);
    model_audit_caches();
    return 0;
}
