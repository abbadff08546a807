/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_wait.c - waiting for an object.
 *
 * A thread that waits sleeps in the pool of slots.  Each event that makes a get possible
 * frees a slot there: a put, an object that was destroyed, or room that was made.
 */
#include "base/compiler.h"

#include "object/object.h"

#include "host/os.h"

#define CPI_SECOND UINT64_C(1000000000)

/* How long a fake pool sleeps before it looks again. */
static const struct timespec look_again = {0, 1000000};

/* Sleeps until there is a slot, or it is worth looking again.  False if the time is up. */
static bool sleep_until(const cpool_objects_t *pool, uint64_t deadline, void **slot)
{
    uint64_t now = cpi_os_now();
    struct timespec left;

    *slot = NULL;
    if (now >= deadline)
        return false;
    if (cpi_object_is_fake(pool)) {
        nanosleep(&look_again, NULL);
        return true;
    }
    left.tv_sec = (time_t)((deadline - now) / CPI_SECOND);
    left.tv_nsec = (long)((deadline - now) % CPI_SECOND);
    *slot = cpool_alloc_wait(pool->pool, deadline != CPI_OS_NEVER ? &left : NULL);
    return *slot != NULL;
}

int cpool_object_wait(cpool_objects_t *pool, void **object, bool *is_new,
                      const struct timespec *timeout)
{
    uint64_t deadline = cpi_os_deadline(timeout);
    struct cpi_object_wish wish = {.site = CPI_CALLER()};
    void *slot = NULL;
    int code;

    *object = NULL;
    if (!cpi_object_is_fake(pool) && !cpi_object_slots_are(pool, CPOOL_WAITABLE)) {
        cpi_object_report(CPOOL_EWAITABLE, "cpool_object_wait", pool, NULL);
        return CPOOL_EWAITABLE;
    }
    do {
        code = cpi_object_obtain(pool, slot, object, is_new, &wish);
    } while (code == CPOOL_EDRY && sleep_until(pool, deadline, &slot));
    return code;
}
