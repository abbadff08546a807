/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_pass.c - two waiters sleep, and two threads give a slot each.  The first waiter
 * wakes up when it is called, at any time, or later.
 *
 * Holds: one call is on its way at a time, and the called waiter tells the other of the
 * slot that was given without a call.
 */
#include "waiters.h"

static void *first(void *number)
{
    model_begin(number);
    if (model_is_called(0))
        model_wake_up(0);
    return NULL;
}

static void *giver(void *number)
{
    model_begin(number);
    model_give(model_self - 2);
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {first, giver, giver};
    int i;

    cpi_queue_init(&model_queue);
    for (i = 0; i < MODEL_WAITERS; i++) {
        model_join(i);
        assert(!model_look(i));
    }
    model_run(3, bodies);
    model_audit();
    return 0;
}
