/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_exchange.c - two threads allocate and free through their caches: one spills what it freed
 * into the depot, and flushes its cache once, the other refills from there.
 *
 * Holds: a slot has one owner at a time, which sees the last owner's writes.
 * Nothing is lost.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 4
#include "caches.h"

static int *kept;

static void freer(void)
{
    for (int i = 0; i < 3; i++) {
        model_free(&model_slots[i]);
        if (i == 1)
            cpi_cache_flush(model_own_cache());
    }
}

static void allocator(void)
{
    kept = model_alloc();
}

int main(void)
{
    model_open_caches(2);
    model_stock(3, 1);
    MODEL_RUN(freer, allocator);
    assert(kept != NULL);
    model_give_back(kept);
    model_audit_caches();
    return 0;
}
