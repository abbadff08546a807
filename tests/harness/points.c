/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * points.c - the points of a program that has installed none (points.h).
 */
#include "points.h"

#undef cpi_os_back_off /* these are the library's own */
#undef cpi_os_now
void cpi_os_back_off(unsigned times);
uint64_t cpi_os_now(void);

static void ignore(const char *function)
{
    (void)function;
}

static bool never_fails(void)
{
    return false;
}

const struct points points_of_library = {
    .reach = ignore,
    .fails = never_fails,
    .mutex_lock = pthread_mutex_lock,
    .mutex_trylock = pthread_mutex_trylock,
    .mutex_unlock = pthread_mutex_unlock,
    .cond_wait = pthread_cond_wait,
    .cond_timedwait = pthread_cond_timedwait,
    .cond_signal = pthread_cond_signal,
    .back_off = cpi_os_back_off,
    .now = cpi_os_now,
};

const struct points *points = &points_of_library;

void points_use(const struct points *table)
{
    points = table;
}

void points_back_off(unsigned times)
{
    points->back_off(times);
}

uint64_t points_now(void)
{
    return points->now();
}
