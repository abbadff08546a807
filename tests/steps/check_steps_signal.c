/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_signal.c - a handler of a signal runs at every step of what takes the library's lock,
 * and returns, or ends the process by exit, which waits for nobody.
 */
#include "steps.h"

#include <signal.h>
#include <unistd.h>

enum { CAPACITY = 24,
       ROUNDS = 3 };

enum { PATIENCE = 60 }; /* seconds that a child may take before it counts as hung */

/* Closed at the end of the process, with the library's lock and that of its waiters. */
struct seat {
    uint64_t number;
};

CPOOL_DECLARE(seats, struct seat);
CPOOL_DEFINE(seats, struct seat, .capacity = CAPACITY);

static volatile sig_atomic_t handled;

static void handle_and_return(int signal)
{
    (void)signal;
    handled++;
}

/* Not async-signal-safe in general, but here the C library was not interrupted. */
static void handle_with_exit(int signal)
{
    (void)signal;
    exit(EXIT_SUCCESS);
}

static void (*const handlers[])(int) = {handle_and_return, handle_with_exit};

static void install(void (*handler)(int))
{
    const struct sigaction action = {.sa_handler = handler};

    REQUIRE_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
}

static void raise_signal(void *unused)
{
    (void)unused;
    REQUIRE_EQUAL(raise(SIGUSR1), 0);
}

/* All that takes the lock, and a wait, which takes that of the waiters. */
static void live_and_die(void)
{
    static const struct timespec briefly = {0, 1000};
    cpool_t *other = steps_pool(0, CAPACITY, 0, ROUNDS);
    struct seat *held[CAPACITY];
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
    for (size_t i = 0; i < CAPACITY; i++)
        REQUIRE((held[i] = seats_alloc()) != NULL);
    REQUIRE(seats_alloc_wait(&briefly) == NULL);
    for (size_t i = 0; i < CAPACITY; i++)
        seats_free(held[i]);
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
    REQUIRE_EQUAL(handled, steps_drop()); /* the waits may have had more steps before */
    REQUIRE_EQUAL(seats_close(), 0);
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

TEST_TIMES(handler_at_every_step_of_a_pools_life_returns_or_exits,
           sizeof(handlers) / sizeof(handlers[0]))
{
    struct interruption interruption;
    size_t steps;

    REQUIRE_EQUAL(seats_open(NULL), 0);
    steps = count_steps();
    REQUIRE(steps > 100);
    interruption.handler = handlers[_i];
    for (size_t nth = 1; nth <= steps; nth += SUPPORT_COUNT(1u, 7u)) {
        interruption.nth = nth;
        support_in_child(interrupt, &interruption);
    }
    REQUIRE_EQUAL(seats_close(), 0);
}
