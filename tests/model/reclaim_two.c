/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim_two.c - two threads close the entry of an owner and take what is loaded.  The owner frees
 * a slot by the inline path, or opens its entry for that.
 *
 * Holds: one of the three is at the magazine at a time.  Nothing is lost.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#include "caches.h"

static void owner(void)
{
    model_be_lucky();
    model_free(&model_slots[1]);
#ifdef MODEL_TURNS
    model_free(model_alloc());
#endif
}

int main(void)
{
    model_open_caches(1);
#ifndef MODEL_CLOSED
    model_free_by(model_cache(1), &model_slots[0]);
#else
    model_reclaimed[0] = &model_slots[0];
#endif
    MODEL_RUN(owner, model_reclaimer, model_reclaimer);
    model_audit_caches();
    return 0;
}
