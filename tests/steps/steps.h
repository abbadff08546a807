/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steps.h - doing something at a chosen step of another operation: the library,
 * compiled once more such that it tells of each atomic operation and each lock
 * before it makes it.
 *
 * The effects of two threads on each other are produced at every step in turn,
 * so these tests need no luck and no time.  They do not vary the order of
 * memory, which is the models' part.
 */
#ifndef CPOOL_TESTS_STEPS_H
#define CPOOL_TESTS_STEPS_H

#include "growth.h"

/* Its slots have 64 bytes.  The rest is as in cpool_config_t. */
cpool_t *steps_pool(unsigned flags, size_t capacity, size_t max_capacity, size_t rounds);

/* In place of a function's name: the taking of any lock of the library's, and giving
 * way to another thread, where a thread may have to wait. */
#define STEPS_LOCK "pthread_mutex_lock"

/* The calling thread does the action before its nth step, from 1, in this
 * function of the library's, or in any if that is NULL.  Once: nothing is
 * planned during the action and afterwards.  Replaces an earlier plan. */
void steps_plan(const char *function, size_t nth, void (*action)(void *argument), void *argument);

/* Drops the plan.  Returns true if it had been carried out. */
bool steps_drop(void);

/* The steps that the calling thread has made. */
size_t steps_made(void);

/* From now on the calling thread may make so many steps.  With more the test
 * fails, because the thread does not come to an end.  0: as many as it likes.
 * The child of a fork inherits what is left. */
void steps_allow(size_t most);

/*
 * A worker that stops at a step.  If it holds a lock of the library's there, it stops
 * at the next one in the same function at which it holds none.  The actions of others
 * while it stands still must not wait for it.
 *
 * begin    starts the body in it, to stop before its nth step in the function
 * run      the same, and returns when it has stopped, true, or come to its end
 * go_on_to lets one that has stopped go on in the same way, counting from there
 * resume   lets it go on to its end, without a stop if it has not stopped yet
 * go_on    the same, and returns when it is there.  Each body needs one of these
 */
enum steps_state { STEPS_RUNS, STEPS_STOPPED, STEPS_ENDED };

struct steps_stop {
    struct worker *worker;
    const char *function;
    size_t nth; /* 0: it does not stop any more */
    void (*body)(void *argument);
    void *argument;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum steps_state state;
};

void steps_begin(struct steps_stop *stop, struct worker *worker, const char *function, size_t nth,
                 void (*body)(void *argument), void *argument);
bool steps_run(struct steps_stop *stop, struct worker *worker, const char *function, size_t nth,
               void (*body)(void *argument), void *argument);
bool steps_go_on_to(struct steps_stop *stop, const char *function, size_t nth);
void steps_resume(struct steps_stop *stop);
void steps_go_on(struct steps_stop *stop);

/* Whether it has stopped by now. */
bool steps_has_stopped(struct steps_stop *stop);

/* Makes a call, in which `nth` is a step and `worker` the one that may stop there, at each step in
 * turn, until it returns that there is no such step.  That must be beyond `least`. */
#define STEPS_SWEEP(call, stride, least)                                                     \
    do {                                                                                     \
        struct worker *worker = worker_start();                                              \
        size_t nth = 1;                                                                      \
                                                                                             \
        while (call)                                                                         \
            nth += (stride);                                                                 \
        REQUIRE(nth > (least));                                                              \
        worker_stop(worker);                                                                 \
    } while (0)

#endif /* CPOOL_TESTS_STEPS_H */
