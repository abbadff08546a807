/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_signal.c - a signal at every step of what takes the library's lock,
 * the child's part of a fork included: no handler runs on top of the lock's
 * holder, so that it may fork, exit and use the depot.
 *
 * Includes steps.h and inside_wait.h, to try locks and take places.
 */
#include "steps.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inside_wait.h"

enum { CAPACITY = 24,
       ROUNDS = 3,
       OTHERS = 2 };

enum { PATIENCE = 60 }; /* seconds that a child may take before it counts as hung */

static cpool_t *pool;

/*
 * ---- What handlers do ----------------------------------------------------
 */

/* Only abort and _exit are allowed in a handler. */
static void require_in_handler(bool condition)
{
    if (!condition)
        abort();
}

static void use_depot(void)
{
    /* The lock is free: this thread is the only one. */
    require_in_handler(cpi_try_lock());
    cpi_unlock();
    cpool_depot_free(pool, cpool_depot_alloc(pool));
}

static void handle_with_depot(int signal)
{
    (void)signal;
    use_depot();
}

static void handle_with_fork(int signal)
{
    pid_t child;
    int status = -1;

    handle_with_depot(signal);
    child = fork();
    if (child == 0) {
        use_depot();
        _exit(0);
    }
    require_in_handler(child > 0);
    while (waitpid(child, &status, 0) < 0)
        require_in_handler(errno == EINTR);
    require_in_handler(status == 0);
}

/* Not async-signal-safe in general, but here the C library was not interrupted. */
static void handle_with_exit(int signal)
{
    handle_with_depot(signal);
    exit(EXIT_SUCCESS);
}

static void (*const handlers[])(int) = {handle_with_depot, handle_with_fork, handle_with_exit};

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

/*
 * ---- Whatever takes the lock ---------------------------------------------
 */

static void live_and_die(void)
{
    cpool_t *other = steps_pool(0, CAPACITY, 0, ROUNDS);
    cpool_cache_t *cache;

    cpool_free(other, cpool_alloc(other));
    REQUIRE_EQUAL(cpool_cache_create(&cache, other), 0);
    cpool_cache_free(cache, cpool_cache_alloc(cache));
    cpool_cache_destroy(cache);
    support_require_live(other, 0);
    cpool_trim(other);
    REQUIRE_EQUAL(cpool_shrink(other, 1), 1);
    REQUIRE_EQUAL(cpool_reset(other), 0);
    support_destroy_empty(other);
}

struct interruption {
    void (*handler)(int);
    size_t nth;
};

static void interrupt(void *argument)
{
    const struct interruption *interruption = argument;

    alarm(PATIENCE);
    install(interruption->handler);
    steps_plan(NULL, interruption->nth, raise_signal, NULL);
    live_and_die();
    REQUIRE(steps_drop());
}

static void count_on(void *unused)
{
    (void)unused;
}

static size_t count_steps(void)
{
    size_t steps = 0;

    do {
        steps_plan(NULL, ++steps, count_on, NULL);
        live_and_die();
    } while (steps_drop());
    return steps - 1;
}

START_TEST(handler_at_every_step_of_a_pools_life_finds_the_lock_free)
{
    struct interruption interruption;
    size_t steps;

    install(handle_with_depot);
    pool = steps_pool(0, CAPACITY, 0, ROUNDS);
    steps = count_steps();
    REQUIRE(steps > 100);
    interruption.handler = handlers[_i];
    for (size_t nth = 1; nth <= steps; nth += SUPPORT_COUNT(3u, 29u)) {
        interruption.nth = nth;
        support_in_child(interrupt, &interruption);
    }
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- Forks ---------------------------------------------------------------
 */

static void fill_cache(void *unused)
{
    void *slots[2 * ROUNDS];

    (void)unused;
    REQUIRE_EQUAL(cpool_alloc_bulk_all(pool, slots, 2 * ROUNDS), 0);
    cpool_free_bulk(pool, slots, 2 * ROUNDS);
}

/* At an atomic operation ThreadSanitizer delivers the signals it held back, even
 * blocked ones. */
static void let_signals_in(void)
{
    static _Atomic int any;

    (void)atomic_load_explicit(&any, memory_order_relaxed);
}

/* Forks with a signal at the nth step.  Returns whether the child, which may
 * have more steps than the parent, had that many. */
static bool fork_with_signal_at(size_t nth)
{
    pid_t child;
    int status = -1;

    steps_plan(NULL, nth, raise_signal, NULL);
    child = fork();
    let_signals_in();
    REQUIRE(child >= 0);
    if (child == 0) {
        bool more = steps_drop();

        alarm(PATIENCE);
        support_require_live(pool, 0);
        support_require_obtainable(pool, 0);
        _exit(more ? 1 : 0);
    }
    (void)steps_drop();
    while (waitpid(child, &status, 0) < 0)
        REQUIRE(errno == EINTR);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status) != 0;
}

START_TEST(handler_at_every_step_of_a_fork_finds_the_lock_free)
{
    struct worker *workers[OTHERS];
    size_t nth = 1;

    install(handle_with_depot);
    pool = steps_pool(0, CAPACITY, 0, ROUNDS);
    for (size_t i = 0; i < OTHERS; i++) {
        workers[i] = worker_start();
        worker_do(workers[i], fill_cache, NULL);
    }
    while (fork_with_signal_at(nth))
        nth++;
    REQUIRE(nth > 10);
    for (size_t i = 0; i < OTHERS; i++)
        worker_stop(workers[i]);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- Handlers that interrupt each other ----------------------------------
 */

enum { PLACES = 4 /* in the caller's memory */,
       DEPTH = PLACES + 3 };

static int handlers_inside;

static void alloc_and_be_interrupted(void)
{
    steps_plan("cpi_place_vacate", 1, raise_signal, NULL);
    cpool_depot_free(pool, cpool_depot_alloc(pool));
}

static void handle_with_interrupted_depot(int signal)
{
    (void)signal;
    if (++handlers_inside < DEPTH)
        alloc_and_be_interrupted();
    else
        use_depot();
}

static bool is_blocked(void)
{
    sigset_t mask;

    REQUIRE_EQUAL(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    return sigismember(&mask, SIGUSR1) == 1;
}

/* Leaves the pool's next uncached operation the last place alone. */
static void lend_places(struct cpi_registry *registry, uint32_t places)
{
    for (uint32_t i = 0; i < places; i++)
        REQUIRE(cpi_place_try_enter(&registry->places) != NULL);
    REQUIRE(cpi_place_try_enter(&registry->places) == NULL);
}

static void take_places_back(struct cpi_registry *registry, uint32_t places)
{
    for (uint32_t i = 0; i < places; i++)
        cpi_place_vacate(&registry->places.at[i]);
}

/* As the first operation that is in it, not in a handler. */
static void use_last_place(void)
{
    struct cpi_registry *registry = &inside(pool)->registry;

    lend_places(registry, PLACES - 1);
    cpool_depot_free(pool, cpool_depot_alloc(pool));
    REQUIRE(!is_blocked());
    take_places_back(registry, PLACES - 1);
}

START_TEST(last_places_of_two_pools_nest)
{
    cpool_t *pools[2];
    struct cpi_registry *registries[2];
    struct cpi_uncached *last[2];

    for (int i = 0; i < 2; i++) {
        pools[i] = steps_pool(0, CAPACITY, 0, ROUNDS);
        registries[i] = &inside(pools[i])->registry;
        lend_places(registries[i], registries[i]->depot->uncached - 1);
    }
    last[0] = cpi_place_enter(&registries[0]->places);
    last[1] = cpi_place_enter(&registries[1]->places);
    REQUIRE(is_blocked());
    cpi_place_leave(&registries[1]->places, last[1]);
    REQUIRE(is_blocked());
    cpi_place_leave(&registries[0]->places, last[0]);
    REQUIRE(!is_blocked());
    for (int i = 0; i < 2; i++) {
        take_places_back(registries[i], registries[i]->depot->uncached - 1);
        support_destroy_empty(pools[i]);
    }
}
END_TEST

static void interrupt_all_places(void *unused)
{
    static _Alignas(64) char memory[1 << 16];
    cpool_config_t config = support_config(64, CAPACITY);
    struct sigaction action;

    (void)unused;
    alarm(PATIENCE);
    memset(&action, 0, sizeof(action));
    action.sa_handler = handle_with_interrupted_depot;
    action.sa_flags = SA_NODEFER;
    REQUIRE_EQUAL(sigemptyset(&action.sa_mask), 0);
    REQUIRE_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
    config.memory = memory;
    config.memory_size = sizeof memory;
    pool = support_create(&config);
    alloc_and_be_interrupted();
    steps_drop();
    REQUIRE_EQUAL(handlers_inside, DEPTH);
    use_last_place();
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

/* Each operation holds its place while the next handler waits for one. */
START_TEST(handlers_inside_all_places_find_another)
{
    support_in_child(interrupt_all_places, NULL);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(handler_at_every_step_of_a_pools_life_finds_the_lock_free,
              sizeof(handlers) / sizeof(handlers[0])),
        ONCE(handler_at_every_step_of_a_fork_finds_the_lock_free),
        ONCE(last_places_of_two_pools_nest),
        /* ThreadSanitizer delivers blocked signals. */
        TIMES(handlers_inside_all_places_find_another, SUPPORT_THREAD_SANITIZED ? 0 : 1),
    };

    return SUPPORT_RUN("steps_signal", tests);
}
