/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_partial.c - as empty_refill.c, but the depot has a partly filled
 * magazine.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 3
#define MODEL_SLOTS 3
#define MODEL_SLACK 1
#define MODEL_MAGAZINES 6
#include "pool.h"

int main(void)
{
    static model_thread *const bodies[] = {model_owner, model_looker};

    model_open_pool(false, 0);
    model_stock(0, MODEL_SLOTS - MODEL_SLACK);
    model_run(2, bodies);
    return 0;
}
