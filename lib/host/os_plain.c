/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os_plain.c - the part of os.h that is the same on all systems, and on those other than Linux, and
 * what few programs ask: which pages are resident, and that they be.
 *
 * Without Linux there is no way to ask for huge pages, and the library touches pages itself to have
 * them resident.
 */
#include "base/compiler.h"

#include "host/os.h"

#include <time.h>

#if !defined(_WIN32)
#include <errno.h>
#include <sys/mman.h>
#endif

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

#if !defined(_WIN32)

CPI_COLD size_t cpi_os_resident(void *address, size_t size, uint64_t *calls)
{
#if CPI_LINUX
    size_t page = cpi_os_page_size();
    unsigned char map[1024];
    size_t resident = 0;
    int saved = errno;

    while (size > 0) {
        size_t part = size < sizeof map * page ? size : sizeof map * page;
        size_t i;

        ++*calls;
        if (mincore(address, part, map) != 0) {
            resident += size;
            break;
        }
        for (i = 0; i < part / page; i++)
            resident += (map[i] & 1u) != 0 ? page : 0;
        address = (char *)address + part;
        size -= part;
    }
    errno = saved;
    return resident;
#else
    (void)address;
    (void)calls;
    return size;
#endif
}

#if CPI_LINUX

/* Of <linux/mman.h>, which older systems lack.  It is part of the kernel's interface,
 * from 5.14 on. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Advice that no kernel knows.  An emulator that takes all advice for hints accepts it. */
#define CPI_NO_ADVICE 0x7fff

/* Of no pages at all, to learn whether the kernel knows it. */
CPI_COLD bool cpi_os_can_populate(uint64_t *calls)
{
    int saved = errno;
    bool known = madvise(NULL, 0, MADV_POPULATE_WRITE) == 0;

    ++*calls;
    if (known) {
        known = madvise(NULL, 0, CPI_NO_ADVICE) != 0;
        ++*calls;
    }
    errno = saved;
    return known;
}

/* EINVAL: memory that the kernel does not manage, such as a device's, which a caller
 * may have provided. */
CPI_COLD bool cpi_os_populate(void *address, size_t size)
{
    int saved = errno;
    bool done;

    done = madvise(address, size, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
    errno = saved;
    return done;
}

#endif

#endif
