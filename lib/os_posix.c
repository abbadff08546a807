/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os_posix.c - os.h for POSIX systems with anonymous memory maps.
 *
 * Floor 1.  The only file that knows which operating system this is.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "os.h"

#include "compiler.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

#if !defined(MAP_ANONYMOUS) && defined(MAP_ANON)
#define MAP_ANONYMOUS MAP_ANON
#endif

/* Where swap space is accounted at map time, do not account what may never be
 * touched; commit accounts for it. */
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

size_t cpi_os_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void *map(size_t size, int protection)
{
    int saved = errno;
    void *address =
        mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    errno = saved;
    return address == MAP_FAILED ? NULL : address;
}

void *cpi_os_reserve(size_t size)
{
    return map(size, PROT_NONE);
}

void *cpi_os_map(size_t size)
{
    return map(size, PROT_READ | PROT_WRITE);
}

bool cpi_os_commit(void *address, size_t size)
{
    int saved = errno;
    bool done = mprotect(address, size, PROT_READ | PROT_WRITE) == 0;

    errno = saved;
    return done;
}

void cpi_os_release(void *address, size_t size)
{
    int saved = errno;

    munmap(address, size);
    errno = saved;
}

/* ThreadSanitizer does not see what membarrier orders. */
#if defined(__linux__) && defined(SYS_membarrier) && !CPI_THREAD_SANITIZER

/* The commands of <linux/membarrier.h>, which older systems lack; part of the
 * kernel's interface. */
#define CPI_MEMBARRIER_EXPEDITED (1 << 3)
#define CPI_MEMBARRIER_REGISTER (1 << 4)

static bool membarrier(int command)
{
    int saved = errno;
    bool done = syscall(SYS_membarrier, command, 0, 0) == 0;

    errno = saved;
    return done;
}

bool cpi_os_barrier_ready(void)
{
    return membarrier(CPI_MEMBARRIER_REGISTER) && membarrier(CPI_MEMBARRIER_EXPEDITED);
}

bool cpi_os_barrier(void)
{
    /* The child of a fork may have to register anew. */
    return membarrier(CPI_MEMBARRIER_EXPEDITED) ||
           (membarrier(CPI_MEMBARRIER_REGISTER) && membarrier(CPI_MEMBARRIER_EXPEDITED));
}

#else

bool cpi_os_barrier_ready(void)
{
    return false;
}

bool cpi_os_barrier(void)
{
    return false;
}

#endif

bool cpi_os_purge(void *address, size_t size)
{
    int saved = errno;
    bool done;

#if defined(__linux__)
    done = madvise(address, size, MADV_DONTNEED) == 0;
#else
    done = mmap(address, size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
#endif
    errno = saved;
    return done;
}

size_t cpi_os_resident(void *address, size_t size)
{
#if defined(__linux__)
    size_t page = cpi_os_page_size();
    unsigned char map[256];
    size_t resident = 0;
    int saved = errno;

    while (size > 0) {
        size_t part = size < sizeof map * page ? size : sizeof map * page;
        size_t i;

        if (mincore(address, part, map) != 0)
            break;
        for (i = 0; i < part / page; i++)
            resident += (map[i] & 1u) != 0 ? page : 0;
        address = (char *)address + part;
        size -= part;
    }
    errno = saved;
    return resident;
#else
    (void)address;
    return size;
#endif
}
