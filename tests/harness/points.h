/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * points.h - tells a test of each atomic operation of the library beforehand.
 *
 * Taken by lib/base/atomic.h (CPI_ATOMIC_HEADER) when the library's sources are compiled
 * once more, as libpoints, for tests that intervene in it.  A test installs what a point
 * does: steps.c carries out a plan, sched/explorer.c schedules threads.  The operations
 * themselves are the library's own.
 *
 * The places where the library waits for other threads are points as well: its locks and
 * condition variables, the calls by which it gives way, and the clock.
 */
#ifndef CPOOL_TESTS_POINTS_H
#define CPOOL_TESTS_POINTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct points {
    void (*reach)(const char *function); /* before an operation, in this function */
    bool (*fails)(void); /* returns true if the next weak compare-and-swap is to fail */

    /* In place of pthread's. */
    int (*mutex_lock)(pthread_mutex_t *mutex);
    int (*mutex_trylock)(pthread_mutex_t *mutex);
    int (*mutex_unlock)(pthread_mutex_t *mutex);
    int (*cond_wait)(pthread_cond_t *cond, pthread_mutex_t *mutex);
    int (*cond_timedwait)(pthread_cond_t *cond, pthread_mutex_t *mutex,
                          const struct timespec *until);
    int (*cond_signal)(pthread_cond_t *cond);

    /* In place of lib/host/os.h's. */
    void (*back_off)(unsigned times);
    uint64_t (*now)(void);
};

/* The library does this by itself.  A test's own table begins as a copy of it. */
extern const struct points points_of_library;

/* The table in use.  Written by points_use alone, while there is one thread. */
extern const struct points *points;
void points_use(const struct points *table);

void points_back_off(unsigned times);
uint64_t points_now(void);

#ifdef CPI_ATOMIC_HEADER

#define CPI_ATOMIC_POINT() points->reach(__func__)
#undef CPOOL_POINT_ /* of the inline path, as the library itself takes it */
#define CPOOL_POINT_() CPI_ATOMIC_POINT()

/* So that a few operations show what otherwise takes many, and a stop costs few steps. */
#define CPI_CALM 3u
#define CPI_LOOKS 3u
#define CPI_LINGER 2u

#define cpi_cas_weak(object, expected, desired, success, failure)                             \
    (CPI_ATOMIC_POINT(),                                                                      \
     points->fails()                                                                          \
         ? (*(expected) = atomic_load_explicit((object), memory_order_##failure), false)      \
         : atomic_compare_exchange_strong_explicit((object), (expected), (desired),           \
                                                   memory_order_##success,                    \
                                                   memory_order_##failure))

#define pthread_mutex_lock(mutex) points->mutex_lock(mutex)
#define pthread_mutex_trylock(mutex) points->mutex_trylock(mutex)
#define pthread_mutex_unlock(mutex) points->mutex_unlock(mutex)
#define pthread_cond_wait(cond, mutex) points->cond_wait(cond, mutex)
#define pthread_cond_timedwait(cond, mutex, until) points->cond_timedwait(cond, mutex, until)
#define pthread_cond_signal(cond) points->cond_signal(cond)
/* Names, because lib/host/os.h declares these later. */
#define cpi_os_back_off points_back_off
#define cpi_os_now points_now

#endif /* CPI_ATOMIC_HEADER */

#endif /* CPOOL_TESTS_POINTS_H */
