/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * depot_slots.c - uncached operations: one thread takes a slot out of the depot
 * and puts it back, another takes one and keeps it, and both meet at the
 * partial magazine, at the stocked stack and at the empty one.
 *
 * Holds: a slot has one owner at a time, which sees the last owner's writes.
 * No slot and no magazine is lost or in two places.
 */
#define MODEL_LIMIT 2
#define MODEL_SLOTS 3
#define MODEL_MAGAZINES 6
#include "store.h"

static int *kept;

static void maintenance(void)
{
    kept = cpi_depot_alloc_slot(&model_depot, model_own_counters());
    if (kept != NULL)
        model_use_slot(kept);
}

static void borrower(void)
{
    int *slot;

    slot = cpi_depot_alloc_slot(&model_depot, model_own_counters());
    if (slot == NULL)
        return;
    model_use_slot(slot);
    cpi_depot_free_slot(&model_depot, model_own_counters(), slot);
}

int main(void)
{
    model_open_committed_depot();
    model_stock(0, 3);
    MODEL_RUN(maintenance, borrower);
    if (kept != NULL)
        cpi_depot_free_slot(&model_depot, &model_counters[0], kept);
    model_audit_depot(3);
    return 0;
}
