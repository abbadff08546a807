/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim_opens.c - an owner opens its closed entry to free a slot, and goes on by the inline path.
 * Meanwhile a thread closes all entries and takes what is loaded, twice.
 *
 * Holds: one of them is at the magazine at a time.  Nothing is lost.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#include "caches.h"

static void owner(void)
{
    model_be_lucky();
    model_free(&model_slots[0]);
    model_free(&model_slots[1]);
    model_free(model_alloc());
}

static int *second;

static void reclaimer(void)
{
    model_reclaimer();
    second = model_reclaim();
}

int main(void)
{
    model_open_caches(1);
    MODEL_RUN(owner, reclaimer);
    model_give_back(second);
    model_audit_caches();
    return 0;
}
