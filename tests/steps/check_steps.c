/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps.c - the harness itself: actions come at the step they are planned for,
 * and a thread that is stopped holds no lock that others would wait for.
 *
 * Includes steps.h, and points.h, to make steps as the library does.
 */
#include "steps.h"

#include "points.h"

#undef pthread_mutex_lock
#undef pthread_mutex_trylock
#undef pthread_mutex_unlock

/*
 * ---- Plans ---------------------------------------------------------------
 */

static void count_up(void *argument)
{
    ++*(size_t *)argument;
}

TEST(action_is_done_once_and_before_the_step_it_is_planned_for)
{
    size_t count = 0;
    size_t made = steps_made();

    steps_plan("here", 3, count_up, &count);
    points->reach("here");
    points->reach("elsewhere");
    points->reach("here");
    REQUIRE_EQUAL(count, 0);
    points->reach("here");
    REQUIRE_EQUAL(count, 1);
    points->reach("here");
    REQUIRE_EQUAL(count, 1);
    REQUIRE(steps_drop());
    REQUIRE_EQUAL(steps_made() - made, 5);
    steps_plan(NULL, 2, count_up, &count);
    points->reach("anywhere");
    REQUIRE(!steps_drop());
    points->reach("anywhere");
    REQUIRE_EQUAL(count, 1);
}

/*
 * ---- Locks ---------------------------------------------------------------
 */

enum { BEFORE = 2, INSIDE = 5, AFTER = 2 };

struct locker {
    pthread_mutex_t mutex;
    pthread_mutex_t inner;
    size_t at; /* the step to come */
};

static void make_steps(struct locker *locker, size_t n)
{
    for (; n > 0; n--) {
        locker->at++;
        points->reach(__func__);
    }
}

/* Taking a lock is one step, too, and trying is none. */
static void lock_and_unlock(void *argument)
{
    struct locker *locker = argument;

    make_steps(locker, BEFORE);
    locker->at++;
    points->mutex_lock(&locker->mutex);
    make_steps(locker, INSIDE);
    REQUIRE_EQUAL(points->mutex_trylock(&locker->inner), 0);
    make_steps(locker, INSIDE);
    points->mutex_unlock(&locker->inner);
    make_steps(locker, INSIDE);
    points->mutex_unlock(&locker->mutex);
    make_steps(locker, AFTER);
}

static bool is_free(pthread_mutex_t *mutex)
{
    if (pthread_mutex_trylock(mutex) != 0)
        return false;
    pthread_mutex_unlock(mutex);
    return true;
}

/* It goes on to the first step behind the lock, and no further. */
TEST(worker_stops_at_no_step_at_which_it_holds_a_lock)
{
    struct worker *worker = worker_start();
    const size_t lock = BEFORE + 1;
    const size_t unlocked = lock + 3 * INSIDE + 1;

    for (size_t nth = 1; nth < unlocked + AFTER; nth++) {
        struct locker locker = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 0 };
        struct steps_stop stop;

        REQUIRE(steps_run(&stop, worker, NULL, nth, lock_and_unlock, &locker));
        REQUIRE(is_free(&locker.mutex));
        REQUIRE(is_free(&locker.inner));
        REQUIRE_EQUAL(locker.at, nth > lock && nth < unlocked ? unlocked : nth);
        steps_go_on(&stop);
    }
    worker_stop(worker);
}

/* Nor does one that goes on from there.  One with fewer steps left comes to its end. */
TEST(worker_that_goes_on_stops_at_no_step_at_which_it_holds_a_lock)
{
    struct worker *worker = worker_start();
    struct locker locker = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 0 };
    struct steps_stop stop;

    REQUIRE(steps_run(&stop, worker, STEPS_LOCK, 1, lock_and_unlock, &locker));
    REQUIRE_EQUAL(locker.at, BEFORE + 1);
    REQUIRE(is_free(&locker.mutex));
    REQUIRE(steps_go_on_to(&stop, "make_steps", 1));
    REQUIRE_EQUAL(locker.at, BEFORE + 1 + 3 * INSIDE + 1);
    REQUIRE(is_free(&locker.mutex));
    REQUIRE(!steps_go_on_to(&stop, NULL, AFTER));
    steps_go_on(&stop);
    worker_stop(worker);
}

/* The thread's own action at a step has no such limits, because it waits for no thread. */
TEST(action_is_done_with_a_lock_held)
{
    struct locker locker = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 0 };
    size_t count = 0;

    steps_plan(NULL, BEFORE + 2, count_up, &count);
    lock_and_unlock(&locker);
    REQUIRE(steps_drop());
    REQUIRE_EQUAL(count, 1);
}
