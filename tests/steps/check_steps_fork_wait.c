/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_fork_wait.c - a handler forks at every step of a wait, and of what calls
 * waiters.  In the child the interrupted thread goes on, and the others have vanished.
 *
 * Includes steps.h and inside_wait.h, to look at the lock of a pool's waiters.
 */
#include "steps.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cpool/retire.h>

#include "inside_wait.h"

enum { PATIENCE = 60 }; /* seconds that a child may take before it counts as hung */

static cpool_t *pool;

/* Only abort and _exit are allowed in a handler. */
static void require_in_handler(bool condition)
{
    if (!condition)
        abort();
}

static void install(void (*handler)(int))
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    REQUIRE_EQUAL(sigemptyset(&action.sa_mask), 0);
    REQUIRE_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
}

static void raise_signal(void *unused)
{
    (void)unused;
    REQUIRE_EQUAL(raise(SIGUSR1), 0);
}

static bool went_on; /* in the child of the handler */
static void *held;
static pthread_t giver;
static uint64_t deadline; /* of the monotonic clock: the waiter may have had its last look */

static void *give_held(void *unused)
{
    (void)unused;
    cpool_free(pool, held);
    return NULL;
}

static void fork_and_go_on(int signal)
{
    pid_t child = fork();
    int status = -1;

    (void)signal;
    require_in_handler(child >= 0);
    went_on = child == 0;
    if (went_on) {
        alarm(PATIENCE);
        return;
    }
    while (waitpid(child, &status, 0) < 0)
        require_in_handler(errno == EINTR);
    require_in_handler(status == 0);
}

/* The giver waits where this thread has the queue's lock. */
static void raise_and_give(void *unused)
{
    (void)unused;
    if (cpi_os_now() < deadline)
        raise_signal(NULL);
    REQUIRE_EQUAL(pthread_create(&giver, NULL, give_held, NULL), 0);
}

static void wait_and_free(void *unused)
{
    void *slot = cpool_alloc_wait(pool, NULL);

    (void)unused;
    REQUIRE(slot == held);
    cpool_free(pool, slot);
}

/* A slot is freed after the step, in both processes.  Another waiter came first, or none.  It
 * vanishes in the child. */
START_TEST(waiter_whose_handler_forks_is_called_in_the_child)
{
    const struct timespec seconds = {2, 0};
    struct worker *other = worker_start();
    size_t nth = 0;
    void *slot;

    install(fork_and_go_on);
    pool = steps_pool(CPOOL_WAITABLE, 1, 0, 1);
    held = cpool_alloc(pool);
    REQUIRE(held != NULL);
    do {
        if (_i > 0) {
            worker_begin(other, wait_and_free, NULL);
            inside_await_hunger(pool);
        }
        steps_plan(NULL, ++nth, raise_and_give, NULL);
        deadline = cpi_os_now() + UINT64_C(1000000000);
        slot = cpool_alloc_wait(pool, &seconds);
        REQUIRE(slot == NULL || slot == held);
        if (went_on)
            _exit(slot != NULL ? 0 : 1);
        if (steps_drop())
            REQUIRE_EQUAL(pthread_join(giver, NULL), 0);
        else
            cpool_free(pool, held);
        if (_i > 0) {
            if (slot != NULL)
                cpool_free(pool, slot);
            worker_await(other);
            if (slot != NULL)
                REQUIRE(cpool_alloc(pool) == held);
        }
    } while (slot != NULL);
    REQUIRE(nth > 10);
    worker_stop(other);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

static _Atomic bool is_handled;

static void fork_and_give(int signal)
{
    fork_and_go_on(signal);
    if (went_on)
        require_in_handler(pthread_create(&giver, NULL, give_held, NULL) == 0);
    atomic_store(&is_handled, true);
}

static void *wait_for_held(void *unused)
{
    const struct timespec seconds = {PATIENCE / 6, 0};
    void *slot = cpool_alloc_wait(pool, &seconds);

    (void)unused;
    if (went_on)
        _exit(slot == held ? 0 : 1);
    return slot;
}

/* The handler runs in the middle of a sleep, which has no other end than a call. */
START_TEST(sleeper_whose_handler_forks_is_called_in_the_child)
{
    pthread_t thread;
    void *slot;

    install(fork_and_give);
    pool = steps_pool(CPOOL_WAITABLE, 1, 0, 1);
    held = cpool_alloc(pool);
    REQUIRE(held != NULL);
    REQUIRE_EQUAL(pthread_create(&thread, NULL, wait_for_held, NULL), 0);
    inside_await_hunger(pool);
    REQUIRE_EQUAL(pthread_kill(thread, SIGUSR1), 0);
    while (!atomic_load(&is_handled))
        sched_yield();
    cpool_free(pool, held);
    REQUIRE_EQUAL(pthread_join(thread, &slot), 0);
    REQUIRE(slot == held);
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}
END_TEST

static const struct cpi_waiter *first; /* before the free */
static bool was_served;                /* when the handler began, by a section that is over */

static void note_and_raise(void *unused)
{
    const struct cpi_waiters *waiters = cpi_waiters_of(inside(pool));

    (void)unused;
    was_served = waiters->holder != cpi_thread_token() && waiters->queue.first != first;
    raise_signal(NULL);
}

static const struct timespec no_time = {0, 0};

/* In the child nobody waits, neither for this free nor for the next one. */
static bool has_held(void)
{
    bool has = cpool_alloc_wait(pool, &no_time) == held;

    if (has)
        cpool_free(pool, held);
    return has && cpool_alloc_wait(pool, &no_time) == held;
}

/* Returns when two waiters sleep, and the first one starves. */
static void await_both(void)
{
    struct cpi_waiters *waiters = cpi_waiters_of(inside(pool));
    bool sleep;

    do {
        inside_await_hunger(pool);
        cpi_mutex_lock(&waiters->lock);
        sleep = waiters->queue.first != waiters->queue.last && waiters->queue.last->asleep;
        cpi_mutex_unlock(&waiters->lock);
    } while (!sleep);
}

/* They starve, so that the slot is handed over.  The child has the slot, unless it had left before
 * the fork. */
START_TEST(free_whose_handler_forks_hands_nothing_to_a_waiter_that_has_vanished)
{
    struct worker *others[] = {worker_start(), worker_start()};
    size_t nth = 0;

    install(fork_and_go_on);
    pool = steps_pool(CPOOL_WAITABLE, 1, 0, 1);
    do {
        held = cpool_alloc(pool);
        REQUIRE(held != NULL);
        for (int i = 0; i < 2; i++)
            worker_begin(others[i], wait_and_free, NULL);
        await_both();
        first = cpi_waiters_of(inside(pool))->queue.first;
        steps_plan(NULL, ++nth, note_and_raise, NULL);
        cpool_free(pool, held);
        if (went_on)
            _exit(was_served || has_held() ? 0 : 1);
        for (int i = 0; i < 2; i++)
            worker_await(others[i]);
    } while (steps_drop());
    REQUIRE(nth > 5);
    for (int i = 0; i < 2; i++)
        worker_stop(others[i]);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

static bool was_held; /* the waiters' lock, at one of the steps */

static bool is_held(void)
{
    cpi_mutex_t *lock = &cpi_waiters_of(inside(pool))->lock;
    bool taken = cpi_mutex_trylock(lock) != 0;

    if (!taken)
        cpi_mutex_unlock(lock);
    return taken;
}

static void fork_and_compare(void *unused)
{
    bool before = is_held();
    pid_t child = fork();
    int status = -1;

    (void)unused;
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(is_held() == before ? 0 : 1);
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE_EQUAL(status, 0);
    was_held = was_held || before;
}

/* The first one tells those that wait. */
START_TEST(fork_inside_a_retire_leaves_it_the_lock)
{
    cpool_domain_t *domain;
    cpool_reader_t *reader;
    size_t nth = 0;
    bool reached;

    REQUIRE_EQUAL(cpool_domain_create(&domain, 1, 12, 0), 0);
    reader = cpool_reader_create(domain);
    REQUIRE(reader != NULL);
    do {
        pool = steps_pool(CPOOL_WAITABLE, 1, 0, 1);
        held = cpool_alloc(pool);
        REQUIRE(held != NULL);
        steps_plan(NULL, ++nth, fork_and_compare, NULL);
        REQUIRE_EQUAL(cpool_retire(reader, pool, held), 0);
        reached = steps_drop();
        REQUIRE_EQUAL(cpool_retire_barrier(reader), 0);
        support_destroy_empty(pool);
    } while (reached);
    REQUIRE(was_held);
    REQUIRE_EQUAL(cpool_reader_destroy(reader), 0);
    REQUIRE_EQUAL(cpool_domain_destroy(domain), 0);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(waiter_whose_handler_forks_is_called_in_the_child, 2),
        ONCE(sleeper_whose_handler_forks_is_called_in_the_child),
        ONCE(free_whose_handler_forks_hands_nothing_to_a_waiter_that_has_vanished),
        ONCE(fork_inside_a_retire_leaves_it_the_lock),
    };

    return SUPPORT_RUN("steps_fork_wait", tests);
}
