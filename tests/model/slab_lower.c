/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slab_lower.c - a thread that has the last slot gives it back to the slab, as
 * a shrinking pool does, while two others claim fresh slots.
 *
 * Holds: the thread that bumps over the slot again sees its last owner's writes.
 */
#define MODEL_LIMIT 4
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 3
#define MODEL_VISITORS 0u
#include "caches.h"

static bool returned;

static void returner(void)
{
    model_use_slot(&model_slots[0]);
    returned = cpi_slab_set_bounds(&model_slab, CPI_BOUNDS(MODEL_SLOTS, 1),
                                   CPI_BOUNDS(MODEL_SLOTS, 0));
}

static void claimer(void)
{
    uintptr_t first;

    if (model_claim(1, &first) == 1)
        model_use_slot(cpi_slab_slot(&model_slab, first));
}

int main(void)
{
    uintptr_t first;

    model_open_committed_depot();
    model_open_slab();
    assert(model_claim(1, &first) == 1 && first == 0);
    MODEL_RUN(returner, claimer, claimer);
    assert(cpi_slab_fresh(&model_slab) == MODEL_SLOTS);
    assert(model_slot_uses() == 2 + returned);
    return 0;
}
