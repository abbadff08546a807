/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_signal.c - the depot pair in signal handlers that interrupt a thread
 * anywhere inside the pool.
 *
 * Includes the public API only.
 */
#include "support.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY = 4000, WORKERS = 2, BURST = 200 };

static cpool_t *pool;
static sem_t handled; /* posted for each signal */
static _Atomic bool stop;

/* Slots that a handler keeps from one signal to another, of any thread. */
static _Atomic(size_t *) kept;

static void require_in_handler(bool condition)
{
    if (!condition)
        abort();
}

/* Takes a slot, leaves it for a later signal, and frees what an earlier one
 * left. */
static void handle(int signal)
{
    size_t *slot = cpool_depot_alloc(pool);

    (void)signal;
    if (slot != NULL) {
        size_t index = cpool_index(pool, slot);

        require_in_handler(cpool_owns(pool, slot));
        require_in_handler(cpool_at(pool, index) == (void *)slot);
        *slot = index;
        /* acq_rel: the slot's content goes to the thread that frees it. */
        slot = atomic_exchange_explicit(&kept, slot, memory_order_acq_rel);
        require_in_handler(slot == NULL || *slot == cpool_index(pool, slot));
        cpool_depot_free(pool, slot);
    }
    require_in_handler(sem_post(&handled) == 0);
}

static void install_handler(void)
{
    struct sigaction action;

    REQUIRE_EQUAL(sem_init(&handled, 0, 0), 0);
    memset(&action, 0, sizeof(action));
    action.sa_handler = handle;
    REQUIRE_EQUAL(sigemptyset(&action.sa_mask), 0);
    REQUIRE_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
}

/* Between two bursts ThreadSanitizer delivers what it held back. */
static void let_signals_in(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void burst(size_t **slots, bool at_depot)
{
    for (size_t i = 0; i < BURST; i++) {
        slots[i] = at_depot && i % 2 == 0 ? cpool_depot_alloc(pool) : cpool_alloc(pool);
        REQUIRE(slots[i] != NULL);
        *slots[i] = ~(size_t)0 - i;
    }
    for (size_t i = 0; i < BURST; i++) {
        REQUIRE(*slots[i] == ~(size_t)0 - i);
        if (at_depot && i % 2 != 0)
            cpool_depot_free(pool, slots[i]);
        else
            cpool_free(pool, slots[i]);
    }
}

static void *work(void *at_depot)
{
    size_t *slots[BURST];

    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        burst(slots, at_depot != NULL);
        let_signals_in();
    }
    return NULL;
}

/* Interrupts the workers in turn, wherever they are. */
static void interrupt(const pthread_t *threads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        REQUIRE_EQUAL(pthread_kill(threads[i % WORKERS], SIGUSR1), 0);
        while (sem_wait(&handled) != 0)
            REQUIRE(errno == EINTR);
    }
}

static void require_interruptible(unsigned flags, bool at_depot)
{
    cpool_config_t config = support_config(sizeof(size_t), CAPACITY);
    pthread_t threads[WORKERS];

    config.flags = flags;
    pool = support_create(&config);
    install_handler();
    for (int i = 0; i < WORKERS; i++)
        threads[i] = support_start(work, at_depot ? &stop : NULL);
    interrupt(threads, SUPPORT_COUNT(500, 200));
    atomic_store_explicit(&stop, true, memory_order_relaxed);
    for (int i = 0; i < WORKERS; i++)
        support_join(threads[i]);
    cpool_depot_free(pool, atomic_load_explicit(&kept, memory_order_acquire));
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

START_TEST(handler_interrupting_cached_pair_loses_nothing)
{
    require_interruptible(0, false);
}
END_TEST

START_TEST(handler_interrupting_depot_pair_loses_nothing)
{
    require_interruptible(0, true);
}
END_TEST

START_TEST(handler_interrupting_checked_pool_loses_nothing)
{
    require_interruptible(CPOOL_CHECKED, _i != 0);
}
END_TEST

/* In a thread that has never used the pool before: nothing is registered. */
START_TEST(handler_before_first_use_makes_no_cache)
{
    pool = support_create_plain(sizeof(size_t), CAPACITY);
    install_handler();
    for (int i = 0; i < 1000; i++) {
        REQUIRE_EQUAL(raise(SIGUSR1), 0);
        REQUIRE_EQUAL(sem_wait(&handled), 0);
    }
    REQUIRE_EQUAL(support_stats(pool).thread_caches, 0);
    support_require_live(pool, 1);
    cpool_depot_free(pool, atomic_load_explicit(&kept, memory_order_acquire));
    support_destroy_empty(pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        ONCE(handler_interrupting_cached_pair_loses_nothing),
        ONCE(handler_interrupting_depot_pair_loses_nothing),
        TIMES(handler_interrupting_checked_pool_loses_nothing, 2),
        ONCE(handler_before_first_use_makes_no_cache),
    };

    return SUPPORT_RUN("signal", tests);
}
