/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_free.c - a thread comes to wait while an owner frees two slots: by the inline path, or out
 * of line.
 *
 * Holds: the waiter does not sleep, uncalled, beside a slot.
 */
#define MODEL_COINS 1
#ifndef MODEL_LIMIT
#define MODEL_LIMIT 2
#endif
#define MODEL_SLOTS 2
#include "waiters.h"

static void owner(void)
{
    model_be_lucky();
#ifdef MODEL_REGISTERS
    model_register();
#endif
    for (int i = 0; i < MODEL_SLOTS; i++)
        model_give(&model_slots[i]);
}

int main(void)
{
#ifdef MODEL_REGISTERS
    model_open_pool(0, 0);
    model_open_waiters();
#else
    model_open_pool(1, 0);
    model_open_waiters();
    model_free_by(model_cache(1), &model_slots[0]);
    (void)model_alloc_by(model_cache(1));
#endif
    MODEL_RUN(owner, model_waiter);
    model_audit_waiter();
    return 0;
}
