/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * depot_partial.c - two threads leave partly filled magazines, as caches that
 * are flushed do, and a third collects the partial magazine.
 *
 * Holds: the thread that takes a partial magazine sees its count, rounds and slots.
 * Two partial magazines are merged.  No round is lost or listed twice.
 */
#define MODEL_LIMIT 3
#define MODEL_SLOTS 4
#define MODEL_MAGAZINES 4
#include "store.h"

static uint32_t collected;

/* Gives a magazine with two rounds. */
static void leave(uint32_t node, int first)
{
    struct cpi_magazine *magazine = cpi_depot_magazine(&model_depot, node);

    for (int i = 0; i < 2; i++) {
        model_use_slot(&model_slots[first + i]);
        magazine->rounds[i] = &model_slots[first + i];
    }
    cpi_magazine_set_count(magazine, 2);
    cpi_depot_give(&model_depot, model_own_counters(), node);
}

static void leave_1(void)
{
    leave(1, 0);
}

static void leave_2(void)
{
    leave(2, 2);
}

static void drainer(void)
{
    struct cpi_magazine *magazine;

    collected = cpi_depot_take_partial(&model_depot, model_own_counters());
    if (collected == 0)
        return;
    magazine = cpi_depot_magazine(&model_depot, collected);
    for (uint32_t i = 0; i < cpi_magazine_count(magazine); i++)
        model_use_slot(magazine->rounds[i]);
}

int main(void)
{
    model_open_committed_depot();
    for (uint32_t i = 1; i <= 2; i++)
        assert(make_any(&model_depot) == i);
    MODEL_RUN(leave_1, leave_2, drainer);
    if (collected != 0)
        cpi_depot_give(&model_depot, &model_counters[0], collected);
    model_audit_depot(MODEL_SLOTS);
    return 0;
}
