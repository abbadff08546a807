/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os_plain.c - the part of os.h that is the same on all systems, and one that few programs use:
 * making pages resident.
 */
#include "base/compiler.h"

#include "host/os.h"

#include <time.h>

#if CPI_LINUX
#include <errno.h>
#include <sys/mman.h>
#endif

uint64_t cpi_os_deadline(const struct timespec *timeout)
{
    uint64_t sum;   /* in nanoseconds, right unless it has wrapped */
    double seconds; /* the same, rounded */

    if (timeout == NULL)
        return CPI_OS_NEVER;
    sum = (uint64_t)timeout->tv_sec * 1000000000u + (uint64_t)timeout->tv_nsec;
    seconds = (double)timeout->tv_sec + (double)timeout->tv_nsec / 1e9;
    if (seconds >= INT32_MAX / 2)
        return CPI_OS_NEVER; /* more than 34 years */
    return seconds < -1 || (int64_t)sum <= 0 ? 0 : cpi_os_now() + sum;
}

#if CPI_LINUX

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
