/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * points.h - tells a test of each atomic operation of the library beforehand.
 *
 * Taken by lib/atomic.h (CPI_ATOMIC_HEADER) when the library's sources are compiled
 * once more for a test, which defines what a point does: steps.c carries out a plan,
 * sched/explorer.c schedules threads, linear/burst.c gives the processor away.  The
 * operations themselves are the library's own.
 *
 * With POINTS_OF_LOCKS the test also has the places where the library waits for other
 * threads: its locks, and the calls by which it gives way.  With POINTS_OF_SLEEP it has
 * condition variables and the clock as well.
 */
#ifndef CPOOL_TESTS_POINTS_H
#define CPOOL_TESTS_POINTS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Before an operation, in this function. */
void point_reach(const char *function);

/* Returns true if the next weak compare-and-swap is to fail whatever it finds. */
bool point_fails(void);

#define CPI_ATOMIC_POINT() point_reach(__func__)

#define cpi_cas_weak(object, expected, desired, success, failure)                             \
    (CPI_ATOMIC_POINT(),                                                                      \
     point_fails()                                                                            \
         ? (*(expected) = atomic_load_explicit((object), memory_order_##failure), false)      \
         : atomic_compare_exchange_strong_explicit((object), (expected), (desired),           \
                                                   memory_order_##success,                    \
                                                   memory_order_##failure))

#ifdef POINTS_OF_LOCKS

#include <pthread.h>

int point_mutex_lock(pthread_mutex_t *mutex);
int point_mutex_trylock(pthread_mutex_t *mutex);
int point_mutex_unlock(pthread_mutex_t *mutex);

/* In place of lib/os.h's. */
void point_back_off(unsigned times);

#define pthread_mutex_lock point_mutex_lock
#define pthread_mutex_trylock point_mutex_trylock
#define pthread_mutex_unlock point_mutex_unlock
#define cpi_os_back_off point_back_off

#endif /* POINTS_OF_LOCKS */

#ifdef POINTS_OF_SLEEP

#include <pthread.h>
#include <stdint.h>
#include <time.h>

int point_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int point_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                         const struct timespec *until);
int point_cond_signal(pthread_cond_t *cond);

/* In place of lib/os.h's. */
uint64_t point_now(void);

#define pthread_cond_wait point_cond_wait
#define pthread_cond_timedwait point_cond_timedwait
#define pthread_cond_signal point_cond_signal
#define cpi_os_now point_now

#endif /* POINTS_OF_SLEEP */

#endif /* CPOOL_TESTS_POINTS_H */
