/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim_swap.c - a thread closes the entry of an owner, and takes what is loaded and its spares.
 * The owner frees two slots and allocates them, so that its magazines change places.
 *
 * Holds: never two are at one magazine, and the thread takes it with the rounds that it has.
 * Nothing is lost.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 3
#ifndef MODEL_CALM
#define CPI_CALM 1u
#endif
#include "caches.h"

static int *kept[2];

static void owner(void)
{
    model_be_lucky();
    model_free(&model_slots[1]);
    model_free(&model_slots[2]);
    for (int i = 0; i < 2; i++)
        kept[i] = model_alloc();
}

int main(void)
{
    model_open_caches(1);
    model_free_by(model_cache(1), &model_slots[0]);
    MODEL_RUN(owner, model_reclaimer);
    model_give_back(kept[0]);
    model_give_back(kept[1]);
    model_audit_caches();
    return 0;
}
