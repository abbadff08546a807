/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_refill.c - an owner takes a magazine of two slots, full or partly filled, out of the
 * depot and allocates one.  Meanwhile a thread without a cache looks for a slot.
 *
 * Holds: it finds the other one, in the depot or in the owner's cache, or waits while it is in the
 * owner's hands.
 */
#define MODEL_COINS 1
#ifndef MODEL_LIMIT
#define MODEL_LIMIT 2
#endif
#define MODEL_SLOTS 2
#include "pool.h"

#if defined(MODEL_REGISTERS)
enum { OWNERS = 0 };

static void owner(void)
{
    model_be_lucky();
    model_register();
    model_owner();
}
#elif defined(MODEL_UNCACHED)
enum { OWNERS = 0 };

static void owner(void)
{
    model_kept = model_take();
}
#else
enum { OWNERS = 1 };

#define owner model_owner
#endif

int main(void)
{
    model_open_pool(OWNERS, 0);
    model_stock(0, MODEL_SLOTS);
    MODEL_RUN(owner, model_looker);
    model_give_back(model_kept);
    model_audit_caches();
    return 0;
}
