/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim_loaded.c - a thread closes the entry of an owner, which frees a slot and allocates one by
 * the inline path, and takes what is loaded.
 *
 * Holds: never two are at the loaded magazine.  Each sees the other's changes to it.  Nothing is
 * lost.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 6
#include "caches.h"

static int *kept;

static void *owner(void *number)
{
    model_begin(number);
    model_free(&model_slots[1]);
    kept = model_alloc();
    model_barrier_end();
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, model_reclaimer};

    model_open_caches(1);
    model_free_by(model_cache(1), &model_slots[0]);
    model_run(2, bodies);
    model_give_back(kept);
    model_audit_caches();
    return 0;
}
