/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slab_bump.c - three threads take runs of two slots from a slab of five.
 *
 * Holds: the runs do not overlap, they cover the slab, and there is memory for
 * the magazines that list them.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 4
#define MODEL_SLOTS 5
#define MODEL_MAGAZINES 3
#define MODEL_VISITORS 0u
#include "caches.h"

static int *first[4];
static size_t length[4];

static void claimer(void)
{
    uintptr_t index;

    length[model_self] = model_claim(2, &index);
    assert(length[model_self] != 0);
    first[model_self] = cpi_slab_slot(&model_slab, index);
    for (size_t i = 0; i < length[model_self]; i++)
        model_use_slot(first[model_self] + i);
    model_touch((uint32_t)(index + length[model_self]) / MODEL_LIMIT + 1);
}

int main(void)
{
    model_open_depot();
    model_open_slab();
    MODEL_RUN(claimer, claimer, claimer);
    assert(length[1] + length[2] + length[3] == MODEL_SLOTS);
    assert(model_slot_uses() == MODEL_SLOTS);
    assert(cpi_slab_fresh(&model_slab) == MODEL_SLOTS);
    return 0;
}
