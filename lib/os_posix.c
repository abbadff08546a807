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

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

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
