/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_refill.c - an owner takes a magazine of two slots out of the depot and
 * allocates one.  Meanwhile a thread without a cache looks for a slot.
 *
 * Holds: it finds the other one, or one from the slack, as it may not touch an owner's
 * loaded magazine.  The estimate of the rounds out of its reach is not too low.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
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
