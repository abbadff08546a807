/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_closed.c - a thread comes to wait while an owner frees a slot, whose entry is closed and
 * stays so.
 *
 * Holds: the waiter does not sleep, uncalled, beside a slot.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 1
#define CPI_CALM 9u
#include "waiters.h"

static void owner(void)
{
    model_be_lucky();
    model_give(&model_slots[0]);
}

int main(void)
{
    model_open_pool(1, 0);
    model_open_waiters();
    model_cache(1)->calm = 0;
    MODEL_RUN(owner, model_waiter);
    model_audit_waiter();
    return 0;
}
