/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steps_points.h - makes every atomic operation of the library, every lock, and
 * each time that a thread gives way to another, a step that a test is told of
 * beforehand.
 *
 * Taken by lib/atomic.h (CPI_ATOMIC_HEADER) when the library's sources are
 * compiled for steps.h.  The operations themselves are the library's own.
 */
#ifndef CPOOL_TESTS_STEPS_POINTS_H
#define CPOOL_TESTS_STEPS_POINTS_H

#include <pthread.h>
#include <stdatomic.h>

/* The calling thread is about to make a step. */
void steps_reach(const char *function);

/* A lock is a step before it is taken, and while it is held no thread stops. */
int steps_mutex_lock(pthread_mutex_t *mutex);
int steps_mutex_trylock(pthread_mutex_t *mutex);
int steps_mutex_unlock(pthread_mutex_t *mutex);
void steps_back_off(unsigned times);

#define pthread_mutex_lock steps_mutex_lock
#define pthread_mutex_trylock steps_mutex_trylock
#define pthread_mutex_unlock steps_mutex_unlock
#define cpi_os_back_off steps_back_off

#undef CPI_ATOMIC_POINT
#define CPI_ATOMIC_POINT() steps_reach(__func__)

#define cpi_cas_weak(object, expected, desired, success, failure)                         \
    (CPI_ATOMIC_POINT(),                                                                  \
     atomic_compare_exchange_weak_explicit((object), (expected), (desired),               \
                                           memory_order_##success, memory_order_##failure))
#define cpi_cas_strong(object, expected, desired, success, failure)                       \
    (CPI_ATOMIC_POINT(),                                                                  \
     atomic_compare_exchange_strong_explicit((object), (expected), (desired),             \
                                             memory_order_##success, memory_order_##failure))

#endif /* CPOOL_TESTS_STEPS_POINTS_H */
