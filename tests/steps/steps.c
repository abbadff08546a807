/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steps.c - doing something at a chosen step (steps.h).
 */
#include "steps.h"

#include "host/os.h"
#include "points.h"

cpool_t *steps_pool(unsigned flags, size_t capacity, size_t max_capacity, size_t rounds)
{
    /* A thread that a test has stopped is not waited for. */
    return SUPPORT_CREATE(64, capacity, .flags = flags, .max_capacity = max_capacity,
                          .magazine_rounds = rounds, .stall_limit_ms = 1);
}

/* --- Plans --- */

/* Each thread's own. */
static _Thread_local struct {
    void (*action)(void *argument); /* NULL: nothing is planned */
    void *argument;
    const char *function;
    size_t left; /* steps up to the action's */
    bool stops;  /* the action holds the thread up: not while it has a lock */
    bool done;
    size_t made;
    size_t allowed; /* 0: any number */
    size_t locks;   /* of the library's, that the thread holds */
} plan;

void steps_plan(const char *function, size_t nth, void (*action)(void *argument), void *argument)
{
    plan.action = action;
    plan.argument = argument;
    plan.function = function;
    plan.left = nth;
    plan.stops = false;
    plan.done = false;
}

bool steps_drop(void)
{
    plan.action = NULL;
    return plan.done;
}

size_t steps_made(void)
{
    return plan.made;
}

void steps_allow(size_t most)
{
    plan.allowed = most;
}

static void reach(const char *function)
{
    void (*action)(void *argument) = plan.action;

    plan.made++;
    REQUIRE(plan.allowed == 0 || --plan.allowed > 0);
    if (action == NULL || (plan.function != NULL && strcmp(plan.function, function) != 0))
        return;
    if (plan.left > 1 || (plan.stops && plan.locks > 0)) {
        plan.left -= plan.left > 1;
        return;
    }
    plan.action = NULL;
    plan.done = true;
    action(plan.argument);
}

static int mutex_lock(pthread_mutex_t *mutex)
{
    int status;

    reach(STEPS_LOCK);
    status = pthread_mutex_lock(mutex);
    plan.locks += status == 0;
    return status;
}

static int mutex_trylock(pthread_mutex_t *mutex)
{
    int status = pthread_mutex_trylock(mutex);

    plan.locks += status == 0;
    return status;
}

/* Somebody holds it, although these sources are compiled without assertions. */
static int mutex_unlock(pthread_mutex_t *mutex)
{
    REQUIRE(pthread_mutex_trylock(mutex) != 0);
    plan.locks--;
    return pthread_mutex_unlock(mutex);
}

/* Without giving way at first: each time would cost the time slices of all other programs, and
 * the thread that is waited for mostly stands still. */
static void back_off(unsigned times)
{
    reach(STEPS_LOCK);
    if (times >= CPI_GIVE_WAY)
        points_of_library.back_off(times);
}

__attribute__((constructor)) static void install(void)
{
    static struct points of_steps;

    of_steps = points_of_library;
    of_steps.reach = reach;
    of_steps.mutex_lock = mutex_lock;
    of_steps.mutex_trylock = mutex_trylock;
    of_steps.mutex_unlock = mutex_unlock;
    of_steps.back_off = back_off;
    points_use(&of_steps);
}

/* --- Workers that stop --- */

static void set_state(struct steps_stop *stop, enum steps_state state)
{
    pthread_mutex_lock(&stop->mutex);
    stop->state = state;
    pthread_cond_broadcast(&stop->changed);
    pthread_mutex_unlock(&stop->mutex);
}

/* Returns the state when it is no longer this one. */
static enum steps_state await_other_state(struct steps_stop *stop, enum steps_state state)
{
    enum steps_state other;

    pthread_mutex_lock(&stop->mutex);
    while (stop->state == state)
        pthread_cond_wait(&stop->changed, &stop->mutex);
    other = stop->state;
    pthread_mutex_unlock(&stop->mutex);
    return other;
}

static void plan_to_stop(struct steps_stop *stop);

/* Not if it has been let go on to its end meanwhile. */
static bool stop_here(struct steps_stop *stop)
{
    bool stops;

    pthread_mutex_lock(&stop->mutex);
    stops = stop->nth > 0;
    if (stops) {
        stop->state = STEPS_STOPPED;
        pthread_cond_broadcast(&stop->changed);
    }
    pthread_mutex_unlock(&stop->mutex);
    return stops;
}

static void stand_still(void *argument)
{
    if (!stop_here(argument))
        return;
    (void)await_other_state(argument, STEPS_STOPPED);
    plan_to_stop(argument);
}

static void plan_to_stop(struct steps_stop *stop)
{
    pthread_mutex_lock(&stop->mutex);
    if (stop->nth > 0) {
        steps_plan(stop->function, stop->nth, stand_still, stop);
        plan.stops = true;
    }
    pthread_mutex_unlock(&stop->mutex);
}

static void run_body(void *argument)
{
    struct steps_stop *stop = argument;

    plan_to_stop(stop);
    stop->body(stop->argument);
    (void)steps_drop();
    set_state(stop, STEPS_ENDED);
}

void steps_begin(struct steps_stop *stop, struct worker *worker, const char *function, size_t nth,
                 void (*body)(void *argument), void *argument)
{
    stop->worker = worker;
    stop->function = function;
    stop->nth = nth;
    stop->body = body;
    stop->argument = argument;
    REQUIRE_EQUAL(pthread_mutex_init(&stop->mutex, NULL), 0);
    REQUIRE_EQUAL(pthread_cond_init(&stop->changed, NULL), 0);
    stop->state = STEPS_RUNS;
    worker_begin(worker, run_body, stop);
}

bool steps_run(struct steps_stop *stop, struct worker *worker, const char *function, size_t nth,
               void (*body)(void *argument), void *argument)
{
    steps_begin(stop, worker, function, nth, body, argument);
    return await_other_state(stop, STEPS_RUNS) == STEPS_STOPPED;
}

bool steps_has_stopped(struct steps_stop *stop)
{
    bool stopped;

    pthread_mutex_lock(&stop->mutex);
    stopped = stop->state == STEPS_STOPPED;
    pthread_mutex_unlock(&stop->mutex);
    return stopped;
}

/* It reads its next task when it has seen that it may go on. */
static void let_go_on(struct steps_stop *stop, const char *function, size_t nth)
{
    pthread_mutex_lock(&stop->mutex);
    stop->function = function;
    stop->nth = nth;
    if (stop->state == STEPS_STOPPED) {
        stop->state = STEPS_RUNS;
        pthread_cond_broadcast(&stop->changed);
    }
    pthread_mutex_unlock(&stop->mutex);
}

bool steps_go_on_to(struct steps_stop *stop, const char *function, size_t nth)
{
    let_go_on(stop, function, nth);
    return await_other_state(stop, STEPS_RUNS) == STEPS_STOPPED;
}

void steps_resume(struct steps_stop *stop)
{
    let_go_on(stop, NULL, 0);
}

void steps_go_on(struct steps_stop *stop)
{
    steps_resume(stop);
    worker_await(stop->worker);
    REQUIRE_EQUAL(pthread_cond_destroy(&stop->changed), 0);
    REQUIRE_EQUAL(pthread_mutex_destroy(&stop->mutex), 0);
}
