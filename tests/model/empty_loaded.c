/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_loaded.c - an owner flushes its cache, which has the only slot loaded.
 * Meanwhile a thread without a cache looks for a slot.
 *
 * Holds: the thread finds it, and waits while the owner has it in its hands.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 1
#include "pool.h"

int main(void)
{
    model_open_pool(1, 0);
    model_free_by(model_cache(1), &model_slots[0]);
    MODEL_RUN(model_flusher, model_looker);
    model_audit_caches();
    return 0;
}
