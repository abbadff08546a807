/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os_plain.c - the part of os.h that is the same on all systems, and on those other than Linux.
 *
 * Without Linux there is no way to ask for huge pages, and the library touches pages itself to have
 * them resident.
 */
#include "base/compiler.h"

#include "host/os.h"

#include <time.h>

#define CPI_SECOND INT64_C(1000000000)
/* Seconds, more than nanoseconds of a timespec can take back. */
#define CPI_LONGEST (INT64_C(1) << 40)

uint64_t cpi_os_deadline(const struct timespec *timeout)
{
    int64_t seconds;
    int64_t nanoseconds;

    if (timeout == NULL)
        return CPI_OS_NEVER;
    seconds = (int64_t)timeout->tv_sec;
    if (seconds > CPI_LONGEST)
        seconds = CPI_LONGEST;
    if (seconds < -CPI_LONGEST)
        seconds = -CPI_LONGEST;
    seconds += timeout->tv_nsec / CPI_SECOND;
    nanoseconds = timeout->tv_nsec % CPI_SECOND;
    if (nanoseconds < 0) {
        nanoseconds += CPI_SECOND;
        seconds--;
    }
    if (seconds < 0 || (seconds == 0 && nanoseconds == 0))
        return 0;
    if (seconds >= INT32_MAX / 2)
        return CPI_OS_NEVER; /* in 34 years */
    return cpi_os_now() + (uint64_t)(seconds * CPI_SECOND) + (uint64_t)nanoseconds;
}

#if !CPI_LINUX

size_t cpi_os_huge_page_size(void)
{
    return cpi_os_page_size();
}

void cpi_os_want_huge_pages(void *address, size_t size)
{
    (void)address;
    (void)size;
}

bool cpi_os_can_populate(uint64_t *calls)
{
    (void)calls;
    return false;
}

bool cpi_os_populate(void *address, size_t size)
{
    (void)address;
    (void)size;
    return false;
}

#endif /* not Linux */
