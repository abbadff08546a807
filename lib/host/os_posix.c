/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os_posix.c - os.h for POSIX systems with anonymous memory maps, and deadlines on all systems.
 */
#include "base/compiler.h"

#include "host/os.h"

#include <time.h>

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

#if !defined(_WIN32)

#include "base/error.h"
#include "base/tools.h"
#include "host/sync.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#if CPI_LINUX
#include <link.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#endif

#if CPI_LINUX && defined(__GLIBC__)
#include <execinfo.h>
#endif

#if !defined(MAP_ANONYMOUS) && defined(MAP_ANON)
#define MAP_ANONYMOUS MAP_ANON
#endif

/* On systems that account for swap space when memory is mapped, leave that to commit: most of this
 * memory may never be touched. */
#if defined(CPOOL_PLAIN_POSIX)
#define CPI_NO_RESERVE 0
#elif defined(MAP_NORESERVE)
#define CPI_NO_RESERVE MAP_NORESERVE
#else
#define CPI_NO_RESERVE 0
#endif

#define CPI_CLOSED_PAGES (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED)

/* Whether a system call was done.  It leaves errno as it was, which programs read after a free. */
#define CPI_DONE(condition)                                                            \
    __extension__({                                                                    \
        int saved_ = errno;                                                            \
        bool done_ = (condition);                                                      \
        errno = saved_;                                                                \
        done_;                                                                         \
    })

CPI_COLD const char *cpi_os_environment(const char *name)
{
#if CPI_LINUX
    bool privileged = getauxval(AT_SECURE) != 0; /* capabilities included */
#else
    bool privileged = getuid() != geteuid() || getgid() != getegid();
#endif

    return privileged ? NULL : getenv(name);
}

CPI_COLD size_t cpi_os_read_file(const char *path, char *buffer, size_t size)
{
    int saved = errno;
    size_t length = 0;
    ssize_t got = -1;
    int cancel;
    int file;

    /* open, read and close are cancellation points. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    /* openat needs one system call; with O_CLOEXEC, musl's open makes a second one. */
    file = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        do {
            got = read(file, buffer + length, size - length);
            length += got > 0 ? (size_t)got : 0;
        } while ((got > 0 && length < size) || (got < 0 && errno == EINTR));
        close(file);
    }
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
    return got < 0 ? SIZE_MAX : length;
}

size_t cpi_os_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

#if CPI_LINUX /* Linux has MADV_HUGEPAGE since 2.6.38 */

/* Where the kernel says how large its transparent huge pages are, in decimal. */
#define CPI_HUGE_PAGE_FILE "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"

/* The largest huge pages, on kernels with pages of 64 KiB. */
#define CPI_HUGE_PAGE_MAX ((size_t)512 * 1024 * 1024)

CPI_COLD size_t cpi_os_huge_page_size(void)
{
    char digits[32] = "0";
    size_t page = cpi_os_page_size();
    size_t huge;

    (void)cpi_os_read_file(CPI_HUGE_PAGE_FILE, digits, sizeof digits - 1);
    huge = strtoul(digits, NULL, 10);
    return huge > page && huge <= CPI_HUGE_PAGE_MAX && (huge & (huge - 1)) == 0 ? huge : page;
}

void cpi_os_want_huge_pages(void *address, size_t size)
{
    (void)CPI_DONE(madvise(address, size, MADV_HUGEPAGE) == 0);
}

/* From <linux/mman.h>, which older systems lack.  The kernel has it since 5.14. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* EINVAL: an older kernel, or one that does not manage this memory, such as a device's that the
 * caller provided.  EPERM or ENOSYS: a filter of system calls. */
CPI_COLD bool cpi_os_populate(void *address, size_t size)
{
    return CPI_DONE(madvise(address, size, MADV_POPULATE_WRITE) == 0 || errno == EINVAL ||
                    errno == EPERM || errno == ENOSYS);
}

#endif

CPI_COLD static void *map_pages(uintptr_t wish, size_t size, int protection)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | CPI_NO_RESERVE;
    int saved = errno;
    void *address;

    while ((address = mmap((void *)wish, size, protection, flags, -1, 0)) == MAP_FAILED &&
           errno == EINVAL && (flags & CPI_NO_RESERVE) != 0)
        flags &= ~CPI_NO_RESERVE; /* the system does not know the flag */
    errno = saved;
    return address == MAP_FAILED ? NULL : address;
}

CPI_COLD size_t cpi_os_address_space(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur > SIZE_MAX)
        return SIZE_MAX;
    return (size_t)limit.rlim_cur;
}

CPI_COLD void *cpi_os_reserve(size_t size, size_t align)
{
    size_t spare = align - cpi_os_page_size();
    char *address;
    size_t before;

    if (spare > SIZE_MAX - size)
        return NULL;
    address = map_pages(0, size + spare, PROT_NONE);
    if (address == NULL || spare == 0)
        return address;
    before = (size_t)(-(uintptr_t)address & (align - 1));
    if (before > 0)
        cpi_os_release(address, before);
    if (before < spare)
        cpi_os_release(address + before + size, spare - before);
    return address + before;
}

void *cpi_os_map_at(uintptr_t wish, size_t size)
{
    return map_pages(wish, size, PROT_READ | PROT_WRITE);
}

bool cpi_os_commit(void *address, size_t size)
{
    return CPI_DONE(mprotect(address, size, PROT_READ | PROT_WRITE) == 0);
}

/* A mapping over the range takes one system call, and none of the old bytes comes back. */
bool cpi_os_close(void *address, size_t size)
{
    return CPI_DONE(mmap(address, size, PROT_NONE, CPI_CLOSED_PAGES, -1, 0) != MAP_FAILED);
}

void cpi_os_release(void *address, size_t size)
{
    (void)CPI_DONE(munmap(address, size) == 0);
}

/* ThreadSanitizer does not see the order that membarrier provides.  The stress programs use the
 * barrier with it nevertheless, because everything they check is also acquired and released
 * (stress/build.sh). */
#ifndef CPI_TAKES_BARRIER
#define CPI_TAKES_BARRIER !CPI_THREAD_SANITIZER
#endif

/* The commands from <linux/membarrier.h>, which older systems lack. */
#define CPI_MEMBARRIER_EXPEDITED (1 << 3)
#define CPI_MEMBARRIER_REGISTER (1 << 4)

static bool call_membarrier(int command)
{
#if CPI_LINUX && defined(SYS_membarrier) && CPI_TAKES_BARRIER
    return CPI_DONE(syscall(SYS_membarrier, command, 0, 0) == 0);
#else
    (void)command;
    return false;
#endif
}

CPI_COLD bool cpi_os_barrier_ready(void)
{
    return call_membarrier(CPI_MEMBARRIER_REGISTER) && call_membarrier(CPI_MEMBARRIER_EXPEDITED);
}

bool cpi_os_barrier(void)
{
    /* After a fork, the child may have to register again. */
    return call_membarrier(CPI_MEMBARRIER_EXPEDITED) ||
           (call_membarrier(CPI_MEMBARRIER_REGISTER) && call_membarrier(CPI_MEMBARRIER_EXPEDITED));
}

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

CPI_COLD void cpi_mutex_init(cpi_mutex_t *mutex)
{
    bool inherits = false;
#if CPI_LOCKS_INHERIT
    pthread_mutexattr_t attributes;

    if (pthread_mutexattr_init(&attributes) == 0) {
        inherits = pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) == 0 &&
                   pthread_mutex_init(mutex, &attributes) == 0;
        pthread_mutexattr_destroy(&attributes);
    }
#endif
    if (!inherits)
        *mutex = (cpi_mutex_t)CPI_MUTEX_INIT;
}

CPI_COLD bool cpi_condition_init(cpi_condition_t *condition)
{
    pthread_condattr_t attributes;
    bool made;

    if (pthread_condattr_init(&attributes) != 0)
        return false;
    made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
           pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return made;
}

void cpi_write_error(const char *text, size_t length)
{
    int saved = errno;
    int cancel;

    /* write is a cancellation point.  A cancelled thread would lose its report. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    while (length > 0) {
        ssize_t written = write(STDERR_FILENO, text, length);

        if (written > 0) {
            text += written;
            length -= (size_t)written;
        } else if (errno != EINTR) {
            break;
        }
    }
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}

CPI_COLD size_t cpi_os_purge(void *address, size_t size)
{
#if CPI_LINUX
    return CPI_DONE(madvise(address, size, MADV_DONTNEED) == 0) ? size : 0;
#else
    return CPI_DONE(mmap(address, size, PROT_READ | PROT_WRITE, CPI_CLOSED_PAGES, -1, 0) !=
                    MAP_FAILED) ? size : 0;
#endif
}

static CPI_INITIAL_EXEC _Thread_local uintptr_t thread_number; /* 0: not asked yet */

uintptr_t cpi_trace_thread(void)
{
    if (CPI_UNLIKELY(thread_number == 0)) {
#if CPI_LINUX
        thread_number = (uintptr_t)syscall(SYS_gettid);
#else
        thread_number = (uintptr_t)&thread_number;
#endif
    }
    return thread_number;
}

CPI_COLD void cpi_trace_forked(void)
{
    thread_number = 0;
}

/* The number that tools for a module expect: the offset from the module's load address, or the
 * address itself in a program linked to a fixed address. */
static uintptr_t offset_in(const Dl_info *info, uintptr_t address)
{
#if CPI_LINUX
    const ElfW(Ehdr) *header = info->dli_fbase;

    if (memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_type == ET_EXEC)
        return address;
#endif
    return address - (uintptr_t)info->dli_fbase;
}

CPI_COLD void cpi_trace_name(struct cpi_text *text, uintptr_t address)
{
    const char *module;
    const char *slash;
    Dl_info info;

    if (dladdr((void *)(address - 1), &info) == 0 || info.dli_fname == NULL ||
        info.dli_fbase == NULL) {
        cpi_text_add(text, "0x%" PRIxPTR, address);
        return;
    }
    slash = strrchr(info.dli_fname, '/');
    module = slash != NULL ? slash + 1 : info.dli_fname;
    if (info.dli_sname != NULL)
        cpi_text_add(text, "%s+0x%" PRIxPTR " (%s+0x%" PRIxPTR ")", info.dli_sname,
                     address - (uintptr_t)info.dli_saddr, module, offset_in(&info, address - 1));
    else
        cpi_text_add(text, "%s+0x%" PRIxPTR, module, offset_in(&info, address - 1));
}

#if CPI_LINUX && defined(__GLIBC__)
CPI_COLD size_t cpi_trace_stack(uintptr_t *stack, size_t n)
{
    void *frames[CPI_STACK_MAX];
    int found = backtrace(frames, n < CPI_STACK_MAX ? (int)n : CPI_STACK_MAX);

    for (int i = 0; i < found; i++)
        stack[i] = (uintptr_t)frames[i];
    return found > 0 ? (size_t)found : 0;
}
#else
CPI_COLD size_t cpi_trace_stack(uintptr_t *stack, size_t n)
{
    return 0 * (n + (stack != NULL));
}
#endif

CPI_COLD void cpi_trace_modules(cpool_write_t write, void *arg)
{
    char part[1024];
    ssize_t length;
    int saved = errno;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

    while ((length = read(file, part, sizeof part)) > 0)
        write(part, (size_t)length, arg);
    close(file);
    errno = saved;
}

/* --- Traps --- */

static cpi_trapped_t *trap_hook; /* set once, before the handler */
static struct sigaction trap_before;

/* The bytes of a stack for signals on which there is room for a report. */
#define CPI_SIGNAL_STACK ((size_t)16 * 1024)

static bool is_on_small_stack(void)
{
    stack_t stack;

    return sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK) != 0 &&
           stack.ss_size < CPI_SIGNAL_STACK;
}

/* Without a handler of the program, what was set before decides once the access traps again, and a
 * signal that a thread or process has sent comes again.  All handlers may be called with three
 * arguments, as the system does. */
static void trap_signal(int number, siginfo_t *info, void *context)
{
    bool traps = info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR;
    bool sent = info->si_code <= 0 || info->si_code == SI_USER;
    struct sigaction before = trap_before;

    if (traps)
        trap_hook((uintptr_t)info->si_addr, is_on_small_stack() ? NULL : CPI_CALLER());
    if (before.sa_handler == SIG_IGN && sent)
        return;
    if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
        sigaction(number, &before, NULL);
        if (sent)
            raise(number);
        return;
    }
    if ((before.sa_flags & (int)SA_RESETHAND) != 0)
        trap_before.sa_handler = SIG_DFL;
    before.sa_sigaction(number, info, context);
}

/* The handler is installed as the one before was, because it calls that. */
CPI_COLD void cpi_os_catch_traps(cpi_trapped_t *trapped)
{
    struct sigaction action;

    if (sigaction(SIGSEGV, NULL, &action) != 0)
        return;
    if (trapped == NULL && action.sa_sigaction == trap_signal) {
        sigaction(SIGSEGV, &trap_before, NULL);
    } else if (trapped != NULL && trap_hook == NULL) {
        trap_hook = trapped;
        trap_before = action;
        action.sa_flags = (action.sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
        action.sa_sigaction = trap_signal;
        sigaction(SIGSEGV, &action, NULL);
    }
}

#endif /* not _WIN32 */
