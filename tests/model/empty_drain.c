/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_drain.c - a draining thread takes the magazines in the depot and gives them
 * back, as trimming does.  Meanwhile a thread without a cache looks for a slot.
 *
 * Holds: it finds the one that is collected, and claims none that is fresh.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#include "pool.h"

static void drainer(void)
{
    struct cpi_uncached uncached;
    uint32_t node;

    assert(cpi_depot_try_enter(&model_depot, &uncached));
    cpi_depot_turn_drain(&model_depot);
    node = cpi_depot_take_stocked(&model_depot, &uncached.counters);
    if (node != 0)
        cpi_depot_give(&model_depot, &uncached.counters, node);
    cpi_depot_turn_drain(&model_depot);
    cpi_depot_leave(&model_depot, &uncached);
}

static void looker(void)
{
    assert(model_find() == &model_slots[0]);
}

int main(void)
{
    model_open_pool(0, 1);
    model_stock(0, 1);
    MODEL_RUN(drainer, looker);
    return 0;
}
