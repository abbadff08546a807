/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_register.c - a thread comes to wait while another one registers its cache, opens it to free
 * a slot, and frees a second one by the inline path.
 *
 * Holds: the waiter does not sleep, uncalled, beside a slot.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#include "waiters.h"

static void *owner(void *number)
{
    int i;

    model_begin(number);
    model_be_lucky();
    model_register();
    for (i = 0; i < MODEL_SLOTS; i++)
        model_give(&model_slots[i]);
    model_barrier_end();
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, model_waiter};

    model_open_pool(0, 0);
    model_open_waiters();
    model_run(2, bodies);
    model_audit_waiter();
    return 0;
}
