/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_closed.c - an owner whose entry another thread has closed flushes its cache, which has the
 * only slot loaded.  Meanwhile a thread without a cache looks for a slot.
 *
 * Holds: the thread finds it.  Only the loaded magazine's number says that the owner has it in its
 * hands.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 1
#include "pool.h"

static void owner(void)
{
    model_flusher();
#ifdef MODEL_TWICE
    model_flusher();
#endif
}

int main(void)
{
    model_open_pool(1, 0);
    model_free_by(model_cache(1), &model_slots[0]);
    (void)close_all(&model_registry);
    MODEL_RUN(owner, model_looker);
    model_audit_caches();
    return 0;
}
