/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_sleep.c - two threads come to wait while a third gives two slots.
 *
 * Holds: no waiter sleeps that can have a slot.  A waiter is told of a slot given after
 * its look, and finds a slot given before.
 */
#include "waiters.h"

static void *waiter(void *number)
{
    int i;

    model_begin(number);
    i = model_self - 1;
    model_join(i);
    if (model_look(i))
        model_leave(i);
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {waiter, waiter, model_giver};

    cpi_queue_init(&model_queue);
    model_run(3, bodies);
    model_audit();
    return 0;
}
