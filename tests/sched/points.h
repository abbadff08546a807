/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * points.h - makes every atomic operation of the library a scheduling point.
 *
 * Taken by lib/atomic.h (CPI_ATOMIC_HEADER) when the library's sources are
 * compiled for the schedule explorer.  A weak compare-and-swap may fail
 * spuriously, which is one of the explorer's decisions; apart from that the
 * operations are the library's own.  Where the library waits for other threads,
 * at a mutex or by stepping aside, the explorer lets them run.
 */
#ifndef EXPLORER_POINTS_H
#define EXPLORER_POINTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Before an operation: lets another thread run, or not. */
void explorer_point(const char *function);

/* Whether the next weak compare-and-swap is to fail whatever it finds. */
bool explorer_fails_spuriously(void);

int explorer_mutex_lock(pthread_mutex_t *mutex);
int explorer_mutex_unlock(pthread_mutex_t *mutex);

/* In place of lib/os.h's: the system's own would let no thread of a run go on. */
void explorer_back_off(unsigned times);

#define pthread_mutex_lock explorer_mutex_lock
#define pthread_mutex_unlock explorer_mutex_unlock
#define cpi_os_back_off explorer_back_off

/* A run is short. */
#define CPI_REVIEW_SWAPS 3u

#undef CPI_ATOMIC_POINT
#define CPI_ATOMIC_POINT() explorer_point(__func__)

#define cpi_cas_strong(object, expected, desired, success, failure)              \
    (CPI_ATOMIC_POINT(),                                                         \
     atomic_compare_exchange_strong_explicit((object), (expected), (desired),    \
                                             memory_order_##success, memory_order_##failure))

#define cpi_cas_weak(object, expected, desired, success, failure)                \
    (CPI_ATOMIC_POINT(),                                                         \
     explorer_fails_spuriously()                                                    \
         ? (*(expected) = atomic_load_explicit((object), memory_order_##failure), \
            false)                                                               \
         : atomic_compare_exchange_strong_explicit((object), (expected), (desired), \
                                                   memory_order_##success,       \
                                                   memory_order_##failure))

#endif /* EXPLORER_POINTS_H */
