/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_bell.c - one thread asks for a notice and another one waits, while a third one gives
 * two slots.
 *
 * Holds: a notice has come if a slot is left after the first look was in vain, and the
 * waiter does not sleep beside a slot, although the bell that came first took the call.
 */
#define MODEL_BELL
#include "waiters.h"

static bool in_vain; /* the asking thread's, then main's */

static void *asker(void *number)
{
    model_begin(number);
    pthread_mutex_lock(&model_lock);
    cpi_queue_join(&model_queue, &model_waiters[0], UINT64_MAX);
    (void)cpi_queue_announce(&model_queue, &model_waiters[0]);
    pthread_mutex_unlock(&model_lock);
    model_barrier();
    in_vain = !model_take();
    return NULL;
}

static void *waiter(void *number)
{
    model_begin(number);
    model_join(1);
    if (model_look(1))
        model_leave(1);
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {asker, waiter, model_giver};

    cpi_queue_init(&model_queue);
    model_run(3, bodies);
    model_audit();
    assert(!in_vain || model_rang || (!model_sees_slot(0) && !model_sees_slot(1)));
    return 0;
}
