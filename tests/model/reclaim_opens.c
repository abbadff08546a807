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

static void *owner(void *number)
{
    model_begin(number);
    model_be_lucky();
    model_free(&model_slots[0]);
    model_free(&model_slots[1]);
    model_free(model_alloc());
    model_barrier_end();
    return NULL;
}

static int *second;

static void *reclaimer(void *number)
{
    model_reclaimer(number);
    second = model_reclaim();
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, reclaimer};

    model_open_caches(1);
    model_run(2, bodies);
    model_give_back(second);
    model_audit_caches();
    return 0;
}
