/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * posix.c - the part of POSIX that the tests call, by the means of Windows (posix.h, sys/,
 * dlfcn.h).
 *
 * Calls that have no counterpart skip the test.
 */
#include "support.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define WIN32_LEAN_AND_MEAN 1
#include <windows.h>
#include <psapi.h>

/* --- Memory --- */

/* The word before an aligned block. */
#define ALIGNED UINT64_C(0x616c69676e656421)

int posix_memalign(void **memory, size_t align, size_t size)
{
    size_t front = align > 64 ? align : 64;
    char *block = _aligned_malloc(front + size, front);

    if (block == NULL)
        return ENOMEM;
    *memory = block + front;
    ((uint64_t *)*memory)[-1] = ALIGNED;
    return 0;
}

void *aligned_alloc(size_t align, size_t size)
{
    void *memory = NULL;

    return posix_memalign(&memory, align, size) == 0 ? memory : NULL;
}

/* The linker puts these in place of free(). */
void __wrap_free(void *memory);
void __real_free(void *memory);

void __wrap_free(void *memory)
{
    if (memory == NULL || ((uint64_t *)memory)[-1] != ALIGNED)
        __real_free(memory);
}

static DWORD pages_of(int protection)
{
    if (protection == PROT_NONE)
        return PAGE_NOACCESS;
    return (protection & PROT_WRITE) != 0 ? PAGE_READWRITE : PAGE_READONLY;
}

void *mmap(void *address, size_t size, int protection, int flags, int file, long long offset)
{
    DWORD kind = protection == PROT_NONE ? MEM_RESERVE : MEM_RESERVE | MEM_COMMIT;
    void *memory;

    REQUIRE(address == NULL && flags == 0 && file == -1 && offset == 0);
    memory = VirtualAlloc(NULL, size, kind, pages_of(protection));
    return memory != NULL ? memory : MAP_FAILED;
}

int munmap(void *address, size_t size)
{
    (void)size;
    return VirtualFree(address, 0, MEM_RELEASE) ? 0 : -1;
}

int mprotect(void *address, size_t size, int protection)
{
    DWORD before;

    if (protection == PROT_NONE)
        return VirtualProtect(address, size, PAGE_NOACCESS, &before) ? 0 : -1;
    return VirtualAlloc(address, size, MEM_COMMIT, pages_of(protection)) != NULL ? 0 : -1;
}

int madvise(void *address, size_t size, int advice)
{
    REQUIRE_EQUAL(advice, MADV_DONTNEED);
    REQUIRE(VirtualFree(address, size, MEM_DECOMMIT));
    return mprotect(address, size, PROT_READ | PROT_WRITE);
}

long syscall(long number, int file, const void *address, size_t size)
{
    const DWORD readable = PAGE_READONLY | PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READ |
                           PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
    MEMORY_BASIC_INFORMATION range;

    (void)file;
    REQUIRE(number == SYS_write && size == 1);
    if (VirtualQuery(address, &range, sizeof(range)) > 0 && range.State == MEM_COMMIT &&
        (range.Protect & readable) != 0)
        return 1;
    errno = EFAULT;
    return -1;
}

/* --- The process --- */

long sysconf(int name)
{
    SYSTEM_INFO info;

    GetSystemInfo(&info);
    return (long)(name == _SC_PAGESIZE ? info.dwPageSize : info.dwNumberOfProcessors);
}

int getrlimit(int resource, struct rlimit *limit)
{
    (void)resource;
    (void)limit;
    support_skip("no limit of memory");
    return -1;
}

int setrlimit(int resource, const struct rlimit *limit)
{
    (void)resource;
    (void)limit;
    support_skip("no limit of memory");
    return -1;
}

int getrusage(int which, struct rusage *usage)
{
    PROCESS_MEMORY_COUNTERS counters;

    REQUIRE(which == RUSAGE_SELF);
    REQUIRE(K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters)));
    if (counters.PageFaultCount == 0 && getenv("CPOOL_TEST_NAME") != NULL)
        support_skip("no count of page faults");
    usage->ru_minflt = (long)counters.PageFaultCount;
    usage->ru_majflt = 0;
    usage->ru_maxrss = (long)(counters.PeakWorkingSetSize / 1024);
    return 0;
}

int pipe(int ends[2])
{
    return _pipe(ends, 4096, _O_BINARY);
}

int pause(void)
{
    Sleep(1);
    return -1;
}

pid_t fork(void)
{
    support_skip("there is no fork");
    return -1;
}

pid_t waitpid(pid_t child, int *status, int options)
{
    (void)child;
    (void)options;
    *status = -1;
    return -1;
}

/* --- A stream into memory --- */

#undef fclose

static FILE *stream;
static char **stream_text;
static size_t *stream_length;

FILE *open_memstream(char **text, size_t *length)
{
    REQUIRE(stream == NULL);
    stream = tmpfile();
    stream_text = text;
    stream_length = length;
    return stream;
}

int posix_fclose(FILE *file)
{
    if (file == stream) {
        long length = ftell(file);

        REQUIRE(length >= 0);
        *stream_text = support_calloc((size_t)length + 1, 1);
        rewind(file);
        *stream_length = fread(*stream_text, 1, (size_t)length, file);
        stream = NULL;
    }
    return fclose(file);
}

/* --- Plug-ins --- */

void *dlopen(const char *path, int flags)
{
    if (flags == RTLD_NOLOAD)
        return (void *)GetModuleHandleA(path);
    return (void *)LoadLibraryA(path);
}

void *dlsym(void *handle, const char *name)
{
    FARPROC address = GetProcAddress(handle, name);
    void *symbol;

    memcpy(&symbol, &address, sizeof(symbol));
    return symbol;
}

int dlclose(void *handle)
{
    return FreeLibrary(handle) ? 0 : -1;
}

char *dlerror(void)
{
    static char text[64];

    snprintf(text, sizeof(text), "the system's error %lu", GetLastError());
    return text;
}
