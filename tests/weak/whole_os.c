/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * whole_os.c - the system's part for the whole library under the explorer (lib/host/os.h and what
 * sync.h takes from the C library), without instrumentation.
 *
 * Memory comes from one array, which the explorer puts back before each execution, and is never
 * given back.  Time passes when it is read, and when a thread sleeps until a time.  A sleep
 * without such a time ends with a signal, so that a thread that nobody wakes is a deadlock.
 *
 * With WHOLE_SYMMETRIC the system has no barrier, and with WHOLE_REFUSES it refuses the second
 * one, and those that follow.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "genmc.h"
#include "weak.h"
#include "whole.h"

#include "host/os.h"
#include "host/sync.h"

enum { PAGE = 64, ARENA = 1 << 20, NEVER_BITS = 60 };

static _Alignas(4096) char arena[ARENA];
static size_t used;
static uint64_t clock_now;

static void *take_memory(size_t size, size_t align)
{
    size_t at = (used + align - 1) / align * align;

    if (size > sizeof arena || at > sizeof arena - size)
        weak_fail("the model takes more than %zu bytes", sizeof arena);
    used = at + size;
    return arena + at;
}

const char *cpi_os_environment(const char *name)
{
    (void)name;
    return NULL;
}

size_t cpi_os_read_file(const char *path, char *buffer, size_t size)
{
    (void)path;
    (void)buffer;
    (void)size;
    return SIZE_MAX;
}

size_t cpi_os_page_size(void)
{
    return PAGE;
}

size_t cpi_os_huge_page_size(void)
{
    return PAGE;
}

void cpi_os_want_huge_pages(void *address, size_t size)
{
    (void)address;
    (void)size;
}

size_t cpi_os_address_space(void)
{
    return SIZE_MAX;
}

void *cpi_os_reserve(size_t size, size_t align)
{
    return take_memory(size, align);
}

bool cpi_os_commit(void *address, size_t size)
{
    (void)address;
    (void)size;
    return true;
}

void *cpi_os_map_at(uintptr_t wish, size_t size)
{
    (void)wish;
    return take_memory(size, PAGE);
}

void cpi_os_release(void *address, size_t size)
{
    (void)address;
    (void)size;
}

bool cpi_os_barrier_ready(void)
{
#ifdef WHOLE_SYMMETRIC
    return false;
#else
    return true;
#endif
}

bool cpi_os_barrier(void)
{
#ifdef WHOLE_REFUSES
    static bool refuses;

    if (refuses)
        return false;
    refuses = true;
#endif
    weak_barrier_all();
    return true;
}

/* With a step, so that another thread may come. */
void cpi_os_back_off(unsigned times)
{
    static pthread_mutex_t step = PTHREAD_MUTEX_INITIALIZER;

    (void)times;
    pthread_mutex_lock(&step);
    pthread_mutex_unlock(&step);
}

uint64_t cpi_os_now(void)
{
    return ++clock_now;
}

uint64_t cpi_os_deadline(const struct timespec *timeout)
{
    return timeout == NULL ? CPI_OS_NEVER : cpi_os_now() + (uint64_t)timeout->tv_nsec;
}

/* No checked pool names a thread or an address here, and nothing forks. */
uintptr_t cpi_trace_thread(void)
{
    abort();
}

void cpi_trace_forked(void)
{
}

void cpi_trace_name(struct cpi_text *text, uintptr_t address)
{
    (void)text;
    (void)address;
}

size_t cpi_os_purge(void *address, size_t size)
{
    (void)address;
    (void)size;
    return 0;
}

bool cpi_os_populate(void *address, size_t size)
{
    (void)address;
    (void)size;
    return true;
}

/* No pool is sampled here. */
bool cpi_os_close(void *address, size_t size)
{
    (void)address;
    (void)size;
    abort();
}

size_t cpi_trace_stack(uintptr_t *stack, size_t n)
{
    (void)stack;
    (void)n;
    abort();
}

void cpi_trace_modules(cpool_write_t write, void *arg)
{
    (void)write;
    (void)arg;
    abort();
}

void cpi_os_catch_traps(cpi_trapped_t *trapped)
{
    (void)trapped;
    abort();
}

void cpi_write_error(const char *text, size_t length);
void cpi_write_error(const char *text, size_t length)
{
#ifndef WHOLE_REFUSES /* which is told */
    fwrite(text, 1, length, stderr);
#endif
}

/* --- Of the C library --- */

void cpi_mutex_init(cpi_mutex_t *mutex)
{
    *mutex = (cpi_mutex_t)CPI_MUTEX_INIT;
}

bool cpi_condition_init(cpi_condition_t *condition)
{
    memset(condition, 0, sizeof *condition);
    return true;
}

int pthread_cond_destroy(pthread_cond_t *condition)
{
    (void)condition;
    return 0;
}

/* Nobody else runs while the clock moves, so it is as if all had slept. */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
    uint64_t time = (uint64_t)until->tv_sec * 1000000000u + (uint64_t)until->tv_nsec;

    if (time >> NEVER_BITS != 0)
        return pthread_cond_wait(condition, mutex);
    pthread_mutex_unlock(mutex);
    pthread_mutex_lock(mutex);
    if (clock_now < time)
        clock_now = time;
    return 0;
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    return pthread_mutex_lock(mutex);
}

int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    (void)mutex;
    return 0;
}

static void (*end_of_key)(void *);
static _Thread_local void *value_of_key;
static _Thread_local uintptr_t token;
static uintptr_t tokens;

uintptr_t whole_token(void)
{
    if (token == 0)
        token = ++tokens * 4096;
    return token;
}

void whole_end_thread(void)
{
    void *value = value_of_key;

    value_of_key = NULL;
    if (value != NULL)
        end_of_key(value);
}

int pthread_key_create(pthread_key_t *key, void (*end)(void *))
{
    *key = 1;
    end_of_key = end;
    return 0;
}

int pthread_key_delete(pthread_key_t key)
{
    (void)key;
    return 0;
}

int pthread_setspecific(pthread_key_t key, const void *value)
{
    (void)key;
    value_of_key = (void *)(uintptr_t)value;
    return 0;
}

int pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
    (void)before;
    (void)parent;
    (void)child;
    return 0;
}

int pthread_setcancelstate(int state, int *before)
{
    (void)state;
    if (before != NULL)
        *before = 0;
    return 0;
}

int pthread_once(pthread_once_t *once, void (*run)(void))
{
    if (*once == PTHREAD_ONCE_INIT) {
        *once = 1;
        run();
    }
    return 0;
}

int atexit(void (*run)(void))
{
    (void)run;
    return 0;
}
