/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * depot_exchange.c - full magazines against empty ones, as caches exchange them:
 * one thread fills an empty magazine and gives it, another takes a full one,
 * uses its slots, and gives the magazine back empty.
 *
 * Holds: the count, the rounds and the slots arrive with the magazine, through
 * both stacks.
 */
#define MODEL_LIMIT 2
#define MODEL_SLOTS 4
#define MODEL_MAGAZINES 4
#include "store.h"

static int *taken[MODEL_LIMIT];

static void taker(void)
{
    struct cpi_counters *counters;
    struct cpi_magazine *magazine;
    uint32_t node;

    counters = model_own_counters();
    node = cpi_depot_take_stocked(&model_depot, counters);
    assert(node != 0);
    magazine = cpi_depot_magazine(&model_depot, node);
    assert(cpi_magazine_count(magazine) == MODEL_LIMIT);
    for (int i = 0; i < MODEL_LIMIT; i++) {
        taken[i] = magazine->rounds[i];
        model_use_slot(taken[i]);
    }
    cpi_magazine_set_count(magazine, 0);
    cpi_depot_give(&model_depot, counters, node);
}

static void giver(void)
{
    struct cpi_counters *counters;
    struct cpi_magazine *magazine;
    uint32_t node;

    counters = model_own_counters();
    node = cpi_depot_take_empty(&model_depot, counters);
    magazine = cpi_depot_magazine(&model_depot, node);
    assert(cpi_magazine_count(magazine) == 0);
    for (int i = 0; i < MODEL_LIMIT; i++) {
        model_use_slot(&model_slots[MODEL_LIMIT + i]);
        magazine->rounds[i] = &model_slots[MODEL_LIMIT + i];
    }
    cpi_magazine_set_count(magazine, MODEL_LIMIT);
    cpi_depot_give(&model_depot, counters, node);
}

int main(void)
{
    model_open_committed_depot();
    model_stock(0, MODEL_LIMIT);
    MODEL_RUN(taker, giver);
    assert(model_slot_uses() == 2 * MODEL_LIMIT);
    for (int i = 0; i < MODEL_LIMIT; i++)
        cpi_depot_free_slot(&model_depot, &model_counters[0], taken[i]);
    model_audit_depot(MODEL_SLOTS);
    return 0;
}
