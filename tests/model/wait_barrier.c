/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_barrier.c - a thread comes to wait while another gives a slot, where the kernel
 * has membarrier: the giver only glances at the word, and the waiter makes it pass a
 * full barrier at any point.
 *
 * Holds: the claims of wait_sleep.c.
 */
#define MODEL_BARRIER
#include "waiters.h"

static void *giver(void *number)
{
    model_begin(number);
    model_give(0);
    model_barrier_end();
    return NULL;
}

static void *waiter(void *number)
{
    model_begin(number);
    model_join(0);
    if (model_look(0))
        model_leave(0);
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {giver, waiter};

    cpi_queue_init(&model_queue);
    model_run(2, bodies);
    model_audit();
    return 0;
}
