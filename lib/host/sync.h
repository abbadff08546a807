/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sync.h - the system's locks, conditions, keys and fork handlers, under the library's own names.
 *
 * Those functions that are macros here return 0, or an error code if the system refuses.
 *
 * Includes os.h.
 */
#ifndef CPI_SYNC_H
#define CPI_SYNC_H

#include "host/os.h"

#if defined(_WIN32)
#include "host/os_windows.h"
#else
#include <pthread.h>
#include <time.h>
#include <unistd.h>

/* Whether locks inherit priorities.  Not with musl: a lock that the forking thread holds names its
 * holder by a number that is another one in the child.  There musl does not unlock it, keeps it in
 * the thread's list, and runs in a circle in pthread_exit once the lock has been made anew. */
#if defined(__GLIBC__) || (!defined(__linux__) && defined(_POSIX_THREAD_PRIO_INHERIT) && \
                           _POSIX_THREAD_PRIO_INHERIT >= 0)
#define CPI_LOCKS_INHERIT 1
#else
#define CPI_LOCKS_INHERIT 0
#endif

typedef pthread_mutex_t cpi_mutex_t;
typedef pthread_cond_t cpi_condition_t;
typedef pthread_once_t cpi_once_t;
typedef pthread_key_t cpi_key_t;
#define CPI_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
#define CPI_ONCE_INIT PTHREAD_ONCE_INIT
#define cpi_mutex_lock pthread_mutex_lock
#define cpi_mutex_trylock pthread_mutex_trylock
#define cpi_mutex_unlock pthread_mutex_unlock
#define cpi_mutex_destroy pthread_mutex_destroy
#define cpi_condition_signal pthread_cond_signal
#define cpi_condition_destroy pthread_cond_destroy
#define cpi_once pthread_once
#define cpi_key_create pthread_key_create
#define cpi_key_delete pthread_key_delete
#define cpi_key_set pthread_setspecific
#define cpi_at_fork pthread_atfork
#define cpi_os_process_is_dying() false
#define cpi_os_ends() true
#define cpi_os_unload() ((void)0)
#define cpi_cancel_hold(was) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, (was))
#define cpi_cancel_restore(was) pthread_setcancelstate((was), NULL)

/* Nobody holds the mutex.  Where the system can, a thread that holds it later runs at the highest
 * priority of those that wait for it, so that no thread in between keeps them waiting. */
void cpi_mutex_init(cpi_mutex_t *mutex);

/* Waits use the monotonic clock.  Returns false if the system refuses what a wait needs. */
bool cpi_condition_init(cpi_condition_t *condition);

/* Sleeps until a signal, or until this time (CPI_OS_NEVER: no limit). */
static inline void cpi_condition_wait(cpi_condition_t *condition, cpi_mutex_t *mutex,
                                      uint64_t time)
{
    const uint64_t second = UINT64_C(1000000000);
    struct timespec until = {(time_t)(time / second), (long)(time % second)};

    if (time == CPI_OS_NEVER)
        pthread_cond_wait(condition, mutex);
    else
        pthread_cond_timedwait(condition, mutex, &until);
}
#endif

/* thread.c.  The value of the thread's word without a table. */
extern const uintptr_t cpi_thread_no_table;

#endif /* CPI_SYNC_H */
