/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_dry.c - a thread comes to wait, and another one that finds the pool dry takes the magazine
 * of three slots that an owner has loaded, while the owner allocates one of them.
 *
 * Holds: the waiter does not sleep, uncalled, beside a slot.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 3
#define MODEL_SLOTS 3
#include "waiters.h"

static void owner(void)
{
    model_be_lucky();
    model_kept = cpi_pool_alloc(&model_pool, model_own_cache(), CPI_CALL("model"));
}

static void finder(void)
{
    model_be_lucky();
    model_reclaimed[model_self] = cpi_pool_alloc(&model_pool, NULL, CPI_CALL("model"));
}

int main(void)
{
    model_open_pool(1, 0);
    model_open_waiters();
    for (int i = 0; i < MODEL_SLOTS; i++)
        model_free_by(model_cache(1), &model_slots[i]);
    MODEL_RUN(owner, model_waiter, finder);
    model_audit_waiter();
    return 0;
}
