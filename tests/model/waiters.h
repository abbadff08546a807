/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waiters.h - threads that wait for slots, and places where slots are given.
 *
 * The library's queue.h, with a lock, and the steps of pool_wait.c: with membarrier
 * where MODEL_BARRIER is defined, otherwise in the symmetric variant.  A place is looked
 * at with relaxed loads, so that nothing but the protocol makes a slot seen.
 *
 * A waiter that sleeps ends its thread.  The main thread goes on with the called ones
 * when all others are done.  A waiter that sleeps then, uncalled, although there is a
 * slot in a place, was forgotten.
 *
 * Where MODEL_BELL is defined, waiter 0 is the bell of pool_call.c: called, it leaves and
 * passes the call on instead of looking.
 */
#ifndef MODEL_WAITERS_H
#define MODEL_WAITERS_H

#ifdef MODEL_BARRIER
#include "barrier.h"
#define MODEL_HAS_BARRIER true
#else
#define MODEL_HAS_BARRIER false
static inline void model_barrier(void)
{
}
#endif
#include "model.h"

#include "wait/queue.h"

#define MODEL_PLACES 2
#define MODEL_WAITERS 2

static pthread_mutex_t model_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cpi_queue model_queue;
static struct cpi_waiter model_waiters[MODEL_WAITERS];
static uint32_t model_vain[MODEL_WAITERS]; /* each waiter's own, then main's */
static bool model_waits[MODEL_WAITERS];    /* likewise */
static _Atomic bool model_places[MODEL_PLACES];

static bool model_sees_slot(int place)
{
    return cpi_load(&model_places[place], relaxed);
}

static bool model_take(void)
{
    int place;

    for (place = 0; place < MODEL_PLACES; place++)
        if (model_sees_slot(place) && cpi_exchange(&model_places[place], false, relaxed))
            return true;
    return false;
}

#ifdef MODEL_BELL
static bool model_rang; /* guarded by the lock */

static void model_call(void)
{
    struct cpi_waiter *bell = &model_waiters[0];
    bool pass_on;

    do {
        pass_on = false;
        pthread_mutex_lock(&model_lock);
        if (cpi_queue_call(&model_queue) == bell) {
            pass_on = cpi_queue_leave(&model_queue, bell, bell->epoch - 1u);
            model_rang = true;
        }
        pthread_mutex_unlock(&model_lock);
        if (pass_on)
            model_barrier();
    } while (pass_on && (model_sees_slot(0) || model_sees_slot(1)));
}
#else
static void model_call(void)
{
    pthread_mutex_lock(&model_lock);
    (void)cpi_queue_call(&model_queue);
    pthread_mutex_unlock(&model_lock);
}
#endif

static void model_give(int place)
{
    cpi_store(&model_places[place], true, relaxed);
    if (cpi_queue_is_asked(&model_queue, MODEL_HAS_BARRIER))
        model_call();
}

/* A thread that gives a slot in each place. */
static inline void *model_giver(void *number)
{
    model_begin(number);
    model_give(0);
    model_give(1);
    return NULL;
}

static void model_join(int i)
{
    pthread_mutex_lock(&model_lock);
    cpi_queue_join(&model_queue, &model_waiters[i], 0);
    pthread_mutex_unlock(&model_lock);
    model_waits[i] = true;
}

static bool model_look(int i)
{
    uint32_t epoch;

    pthread_mutex_lock(&model_lock);
    epoch = cpi_queue_announce(&model_queue, &model_waiters[i]);
    pthread_mutex_unlock(&model_lock);
    model_barrier();
    if (model_take())
        return true;
    model_vain[i] = epoch;
    return false;
}

/* Having found a slot. */
static void model_leave(int i)
{
    bool pass_on;

    pthread_mutex_lock(&model_lock);
    pass_on = cpi_queue_leave(&model_queue, &model_waiters[i], model_vain[i]);
    pthread_mutex_unlock(&model_lock);
    model_waits[i] = false;
    if (pass_on && (model_sees_slot(0) || model_sees_slot(1)))
        model_call();
}

static bool model_is_called(int i)
{
    bool called;

    pthread_mutex_lock(&model_lock);
    called = model_waiters[i].epoch != model_vain[i];
    pthread_mutex_unlock(&model_lock);
    return called;
}

/* One that was called wakes up. */
static void model_wake_up(int i)
{
    if (model_take() || model_look(i))
        model_leave(i);
}

/* By the main thread, at the end. */
static void model_audit(void)
{
    bool more = true;
    int i;

    while (more) {
        more = false;
        for (i = 0; i < MODEL_WAITERS; i++) {
            if (model_waits[i] && model_is_called(i)) {
                model_wake_up(i);
                more = true;
            }
        }
    }
    for (i = 0; i < MODEL_WAITERS; i++)
        assert(!model_waits[i] || (!model_sees_slot(0) && !model_sees_slot(1)));
}

#endif /* MODEL_WAITERS_H */
