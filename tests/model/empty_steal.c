/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_steal.c - a thread brings the full spare of an owner that sleeps to the depot,
 * as recall does.  Meanwhile another thread without a cache looks for a slot.
 *
 * Holds: it finds the one that is being moved.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 6
#define MODEL_VISITORS 2u
#include "pool.h"

static void *stealer(void *number)
{
    model_begin(number);
    model_be_lucky();
    recall(&model_pool);
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {stealer, model_looker};
    int i;

    model_open_pool(false, 0);
    for (i = 0; i < MODEL_SLOTS; i++)
        assert(cpi_cache_free(model_cache(1), &model_slots[i]));
    assert(cpi_cache_pop(model_cache(1)) != NULL);
    model_run(2, bodies);
    return 0;
}
