/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_wait.c - waiting for an object.
 *
 * Floor 7.
 *
 * A thread that waits sleeps in the pool of slots.  Each event that makes a get possible
 * frees a slot there: a put, an object that was destroyed, or room that was made.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "object.h"

#include "os.h"

#define CPI_SECOND ((uint64_t)1000000000)

/* How long a fake pool sleeps before it looks again. */
static const struct timespec look_again = {0, 1000000};

/* Whether there is a limit, and the time at which it is reached. */
struct deadline {
    bool is_set;
    uint64_t at; /* nanoseconds */
};

static struct deadline deadline_of(const struct timespec *timeout)
{
    struct deadline deadline = {timeout != NULL, 0};
    uint64_t now = cpi_os_now();

    if (timeout == NULL || timeout->tv_sec < 0 || timeout->tv_nsec < 0)
        return deadline;
    if ((uint64_t)timeout->tv_sec >= (UINT64_MAX - now) / CPI_SECOND - 1)
        deadline.is_set = false;
    deadline.at = now + (uint64_t)timeout->tv_sec * CPI_SECOND + (uint64_t)timeout->tv_nsec;
    return deadline;
}

/* Sleeps until there is a slot, or it is worth looking again.  False if the time is up. */
static bool sleep_until(const cpool_objects_t *pool, const struct deadline *deadline, void **slot)
{
    struct timespec left = {0, 0};
    uint64_t now = cpi_os_now();

    *slot = NULL;
    if (deadline->is_set && now >= deadline->at)
        return false;
    if (pool->fake) {
        nanosleep(&look_again, NULL);
        return true;
    }
    if (deadline->is_set) {
        left.tv_sec = (time_t)((deadline->at - now) / CPI_SECOND);
        left.tv_nsec = (long)((deadline->at - now) % CPI_SECOND);
    }
    *slot = cpool_alloc_wait(pool->pool, deadline->is_set ? &left : NULL);
    return *slot != NULL;
}

int cpool_object_wait(cpool_objects_t *pool, void **object, bool *is_new,
                      const struct timespec *timeout)
{
    struct deadline deadline = deadline_of(timeout);
    struct cpi_object_wish wish = {.site = CPI_CALLER()};
    void *slot = NULL;
    int code;

    *object = NULL;
    if (!pool->fake && !pool->waitable) {
        cpi_object_report(CPOOL_EWAITABLE, "cpool_object_wait", pool, NULL);
        return CPOOL_EWAITABLE;
    }
    do {
        code = cpi_object_obtain(pool, slot, object, is_new, &wish);
    } while (code == CPOOL_EDRY && sleep_until(pool, &deadline, &slot));
    return code;
}
