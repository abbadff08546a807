/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os_windows.h - sync.h for Windows: locks and conditions of one word each.
 *
 * Without <windows.h>, as its names would meet those of the library.
 */
#ifndef CPI_OS_WINDOWS_H
#define CPI_OS_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

/* An SRWLOCK, a CONDITION_VARIABLE and an INIT_ONCE. */
typedef struct {
    void *word;
} cpi_mutex_t;
typedef struct {
    void *word;
} cpi_condition_t;
typedef struct {
    void *word;
} cpi_once_t;

/* An index of the slots of threads.  There is one key. */
typedef unsigned long cpi_key_t;

/* clang-format off */
#define CPI_MUTEX_INIT {NULL}
#define CPI_ONCE_INIT {NULL}
/* clang-format on */

void cpi_mutex_lock(cpi_mutex_t *mutex);
int cpi_mutex_trylock(cpi_mutex_t *mutex);
void cpi_mutex_unlock(cpi_mutex_t *mutex);
bool cpi_condition_init(cpi_condition_t *condition);
void cpi_condition_signal(cpi_condition_t *condition);
/* Wakes up for no reason, too. */
void cpi_condition_wait(cpi_condition_t *condition, cpi_mutex_t *mutex, uint64_t time);
void cpi_once(cpi_once_t *flag, void (*function)(void));
int cpi_key_create(cpi_key_t *key, void (*ended)(void *value));
/* The key goes with cpi_os_unload. */
#define cpi_key_delete(key) ((void)(key))
int cpi_key_set(cpi_key_t key, const void *value);

/* Whether the system has ended the other threads, wherever they were: no lock is to be taken. */
bool cpi_os_process_is_dying(void);

/* In a handler of atexit: whether the process ends.  An unload of a DLL runs its handlers first. */
bool cpi_os_ends(void);

/* The library is being unloaded.  Not at the end of a process, where other threads read their
 * slots, which this makes zero. */
void cpi_os_unload(void);

/* Two words of the calling thread's own, zero at first. */
uintptr_t *cpi_os_thread_slot(unsigned which);
#if !defined(__clang__) /* instead of thread-local variables, which GCC has in blocks of malloc's */
#define pause_left (*cpi_os_thread_slot(1))
#endif

/* There is no fork, and no thread can be cancelled. */
#define cpi_at_fork(before, in_parent, in_child)                                       \
    ((void)(before), (void)(in_parent), (void)(in_child), 0)
#define cpi_mutex_destroy(mutex) ((void)(mutex))
#define cpi_condition_destroy(condition) ((void)(condition))
#define cpi_cancel_hold(was) ((void)(*(was) = 0))
#define cpi_cancel_restore(was) ((void)(was))

#endif /* CPI_OS_WINDOWS_H */
