/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os_plain.c - the parts of os.h that are the same on all systems, or on all but Linux, and one
 * that few programs use: making pages resident.
 *
 * Without Linux there is no way to ask for huge pages, or to make pages resident.
 */
#include "base/compiler.h"

#include "host/os.h"

#include <time.h>

#if !defined(_WIN32)
#include <errno.h>
#include <sys/mman.h>
#endif

#define CPI_SECOND INT64_C(1000000000)
/* In seconds.  More than the nanoseconds of a timespec can take back. */
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
        return CPI_OS_NEVER; /* more than 34 years */
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

bool cpi_os_populate(void *address, size_t size)
{
    (void)address;
    (void)size;
    return true;
}

#else

/* From <linux/mman.h>, which older systems lack.  The kernel has it since 5.14. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* EINVAL: an older kernel, or one that does not manage this memory, such as a device's that the
 * caller provided.  EPERM or ENOSYS: a filter of system calls. */
CPI_COLD bool cpi_os_populate(void *address, size_t size)
{
    int saved = errno;
    bool done = madvise(address, size, MADV_POPULATE_WRITE) == 0 || errno == EINVAL ||
                errno == EPERM || errno == ENOSYS;

    errno = saved;
    return done;
}

#endif
