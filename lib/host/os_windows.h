/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os_windows.h - sync.h for Windows: locks and conditions of one word each.
 *
 * Does not include <windows.h>, whose names would clash with the library's.
 */
#ifndef CPI_OS_WINDOWS_H
#define CPI_OS_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

/* They hold an SRWLOCK, a CONDITION_VARIABLE and an INIT_ONCE. */
typedef struct {
    void *word;
} cpi_mutex_t;
typedef struct {
    void *word;
} cpi_condition_t;
typedef struct {
    void *word;
} cpi_once_t;

/* An index of a TLS slot.  There is one key. */
typedef unsigned long cpi_key_t;

#define cpi_mutex_init(mutex) ((void)((mutex)->word = NULL))
/* clang-format off */
#define CPI_MUTEX_INIT {NULL}
#define CPI_ONCE_INIT {NULL}
/* clang-format on */

void cpi_mutex_lock(cpi_mutex_t *mutex);
int cpi_mutex_trylock(cpi_mutex_t *mutex);
void cpi_mutex_unlock(cpi_mutex_t *mutex);
bool cpi_condition_init(cpi_condition_t *condition);
void cpi_condition_signal(cpi_condition_t *condition);
/* May wake up spuriously. */
void cpi_condition_wait(cpi_condition_t *condition, cpi_mutex_t *mutex, uint64_t time);
void cpi_once(cpi_once_t *flag, void (*function)(void));
int cpi_key_create(cpi_key_t *key, void (*ended)(void *value));
/* cpi_os_unload deletes the key. */
#define cpi_key_delete(key) ((void)(key))
int cpi_key_set(cpi_key_t key, const void *value);

/* Whether the system has ended the other threads, wherever they were, so that no lock may be
 * taken. */
bool cpi_os_process_is_dying(void);

/* For an atexit handler: whether the process ends.  A DLL's handlers also run when it is
 * unloaded. */
bool cpi_os_ends(void);

/* The library is being unloaded.  Must not be called at the end of a process: it zeroes TLS slots
 * that other threads may read. */
void cpi_os_unload(void);

/* Two words of the calling thread, initially zero. */
uintptr_t *cpi_os_thread_slot(unsigned which);
#if !defined(__clang__) /* instead of thread-local variables, which GCC keeps in malloc blocks */
#define pause_left (*cpi_os_thread_slot(1))
#endif

/* Windows has no fork and no cancellation. */
#define cpi_at_fork(before, in_parent, in_child)                                       \
    ((void)(before), (void)(in_parent), (void)(in_child), 0)
#define cpi_mutex_destroy(mutex) ((void)(mutex))
#define cpi_condition_destroy(condition) ((void)(condition))
#define cpi_cancel_hold(was) ((void)(*(was) = 0))
#define cpi_cancel_restore(was) ((void)(was))

#endif /* CPI_OS_WINDOWS_H */
