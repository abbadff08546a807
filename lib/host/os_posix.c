/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os_posix.c - os.h for POSIX systems with anonymous memory maps.
 *
 * The only file that knows which operating system this is.
 */
#include "base/compiler.h"

#include "host/os.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/auxv.h>
#include <sys/syscall.h>
#endif

#if !defined(MAP_ANONYMOUS) && defined(MAP_ANON)
#define MAP_ANONYMOUS MAP_ANON
#endif

/* Where swap space is accounted at map time, do not account memory that may
 * never be touched.  commit accounts for it. */
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

const char *cpi_os_environment(const char *name)
{
#if defined(__linux__)
    bool privileged = getauxval(AT_SECURE) != 0; /* capabilities included */
#else
    bool privileged = getuid() != geteuid() || getgid() != getegid();
#endif

    return privileged ? NULL : getenv(name);
}

size_t cpi_os_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

#if defined(__linux__) && defined(MADV_HUGEPAGE)

/* Where the kernel says how large its transparent huge pages are, in decimal. */
#define CPI_HUGE_PAGE_FILE "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"

/* The largest there are: of kernels with pages of 64 KiB. */
#define CPI_HUGE_PAGE_MAX ((size_t)512 * 1024 * 1024)

static size_t read_number(const char *path)
{
    char digits[32];
    size_t number = 0;
    ssize_t length = -1;
    ssize_t i;
    int cancel;
    int file;

    /* All three are points of cancellation. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    /* One system call: with O_CLOEXEC, musl's open makes a second one. */
    file = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        length = read(file, digits, sizeof digits);
        close(file);
    }
    pthread_setcancelstate(cancel, NULL);
    for (i = 0; i < length && digits[i] >= '0' && digits[i] <= '9'; i++)
        number = number * 10 + (size_t)(digits[i] - '0');
    return number;
}

size_t cpi_os_huge_page_size(void)
{
    int saved = errno;
    size_t page = cpi_os_page_size();
    size_t huge = read_number(CPI_HUGE_PAGE_FILE);

    errno = saved;
    return huge > page && huge <= CPI_HUGE_PAGE_MAX && (huge & (huge - 1)) == 0 ? huge : page;
}

void cpi_os_want_huge_pages(void *address, size_t size)
{
    int saved = errno;

    madvise(address, size, MADV_HUGEPAGE);
    errno = saved;
}

#else

size_t cpi_os_huge_page_size(void)
{
    return cpi_os_page_size();
}

void cpi_os_want_huge_pages(void *address, size_t size)
{
    (void)address;
    (void)size;
}

#endif

static void *map(size_t size, int protection)
{
    int saved = errno;
    void *address;

    address = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = saved;
    return address == MAP_FAILED ? NULL : address;
}

size_t cpi_os_address_space(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur > SIZE_MAX)
        return SIZE_MAX;
    return (size_t)limit.rlim_cur;
}

void *cpi_os_reserve(size_t size, size_t align)
{
    size_t spare = align - cpi_os_page_size();
    char *address;
    size_t before;

    if (spare > SIZE_MAX - size)
        return NULL;
    address = map(size + spare, PROT_NONE);
    if (address == NULL || spare == 0)
        return address;
    before = (size_t)(-(uintptr_t)address & (align - 1));
    if (before > 0)
        cpi_os_release(address, before);
    if (before < spare)
        cpi_os_release(address + before + size, spare - before);
    return address + before;
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

/* The commands of <linux/membarrier.h>, which older systems lack.  They are
 * part of the kernel's interface. */
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

/* The threads that rely on the barrier have left out theirs, so nothing can go on. */
CPI_COLD static void refuse_to_go_on(void)
{
    static const char text[] = "cpool: the system refuses membarrier, which it granted when the "
                               "first pool was made\n";

    cpi_write_error(text, sizeof text - 1);
    abort();
}

void cpi_os_barrier(void)
{
    /* The child of a fork may have to register anew. */
    if (!membarrier(CPI_MEMBARRIER_EXPEDITED) &&
        !(membarrier(CPI_MEMBARRIER_REGISTER) && membarrier(CPI_MEMBARRIER_EXPEDITED)))
        refuse_to_go_on();
}

#else

bool cpi_os_barrier_ready(void)
{
    return false;
}

void cpi_os_barrier(void)
{
}

#endif

#define CPI_NAP_NANOSECONDS 100000L

void cpi_os_back_off(unsigned times)
{
    static const struct timespec nap = {0, CPI_NAP_NANOSECONDS};
    int saved = errno;
    int cancel;

    if (times < CPI_GIVE_WAY) {
        sched_yield();
        return;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    nanosleep(&nap, NULL);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}

uint64_t cpi_os_now(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

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

size_t cpi_os_resident(void *address, size_t size, uint64_t *calls)
{
#if defined(__linux__)
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

#if defined(__linux__)

/* Of <linux/mman.h>, which older systems lack.  It is part of the kernel's interface,
 * from 5.14 on. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Advice that no kernel knows.  An emulator that takes all advice for hints accepts it. */
#define CPI_NO_ADVICE 0x7fff

/* Of no pages at all, to learn whether the kernel knows it. */
bool cpi_os_can_populate(uint64_t *calls)
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
bool cpi_os_populate(void *address, size_t size)
{
    int saved = errno;
    bool done;

    done = madvise(address, size, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
    errno = saved;
    return done;
}

#else

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

#endif
