/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * depot_empty.c - three threads each take an empty magazine: one lies on the
 * stack, two have never been used.
 *
 * Holds: each gets one of its own.
 */
#define MODEL_LIMIT 2
#define MODEL_MAGAZINES 3
#include "store.h"

static uint32_t taken[4];

static void taker(void)
{
    struct cpi_magazine *magazine;

    taken[model_self] = cpi_depot_take_empty(&model_depot, model_own_counters());
    magazine = cpi_depot_magazine(&model_depot, taken[model_self]);
    assert(cpi_magazine_count(magazine) == 0);
    magazine->rounds[0] = &model_slots[model_self];
}

int main(void)
{
    model_open_committed_depot();
    cpi_depot_give(&model_depot, &model_counters[0], make_any(&model_depot));
    MODEL_RUN(taker, taker, taker);
    for (int i = 1; i <= 3; i++)
        cpi_depot_give(&model_depot, &model_counters[0], taken[i]);
    assert(cpi_depot_made(&model_depot) == 3);
    model_audit_depot(0);
    return 0;
}
