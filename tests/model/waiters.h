/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waiters.h - a thread that comes to wait in a pool of pool.h.
 *
 * The library's waiters.c and wait.c, compiled here.  A waiter joins and looks once, as
 * shipped.  Then it would sleep: when the others have ended, the model says whether it may.
 */
#ifndef MODEL_WAITERS_H
#define MODEL_WAITERS_H

#define MODEL_WAITERS
#include "pool.h"

#include <cpool/wait.h>

#include "wait/waiters.c"
#include "pool/wait.c"

MODEL_ABSENT(uint64_t, cpi_os_deadline, const struct timespec *timeout)
MODEL_ABSENT(bool, cpi_condition_init, cpi_condition_t *condition)

void cpi_mutex_init(cpi_mutex_t *mutex)
{
    *mutex = (cpi_mutex_t)CPI_MUTEX_INIT;
}

int pthread_cond_destroy(pthread_cond_t *condition);
MODEL_ABSENT(int, pthread_cond_destroy, pthread_cond_t *condition)
MODEL_ABSENT(int, pthread_cond_timedwait, pthread_cond_t *condition, pthread_mutex_t *mutex,
             const struct timespec *until)
MODEL_ABSENT(int, pthread_mutex_destroy, pthread_mutex_t *mutex)
MODEL_ABSENT(int, pthread_setcancelstate, int state, int *was)

#define model_waiters model_pool.waiters
static struct cpi_sleeper model_sleeper;
static int *model_found; /* by the waiter */

static inline void model_open_waiters(void)
{
    cpi_waiters_init(&model_waiters, &model_registry);
    model_waiters.starving_after = UINT64_MAX / 2;
    model_sleeper.deadline = UINT64_MAX;
}

/* A thread that waits. */
static inline void model_waiter(void)
{
    model_be_lucky();
    (void)cpi_reclaim_begin(&model_registry);
    cpi_sleeper_join(&model_waiters, &model_sleeper);
    model_found = look_as_waiter(&model_pool, &model_sleeper);
    if (model_found != NULL)
        model_use_slot(model_found);
}

/* When the others have ended: it has a slot, is called, or naps because it has left an owner alone,
 * or else there is none. */
static inline void model_audit_waiter(void)
{
    bool sleeps = model_found == NULL && model_sleeper.waiter.epoch == model_sleeper.vain &&
                  model_sleeper.alone_nap == 0;

    if (sleeps) {
        assert(cpi_depot_alloc_slot(&model_depot, &model_counters[0]) == NULL);
        for (int i = 0; i < (int)cpi_registry_made(&model_registry); i++)
            assert(cpi_cache_rounds(model_cache(1 + i)) == 0);
    }
    model_give_back(model_found);
}

#endif /* MODEL_WAITERS_H */
