/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os_windows.c - os.h and sync.h for 64-bit Windows, using kernel32 only.
 *
 * Memory is reserved in units of 64 KiB, and committed and given back in pages of 4 KiB.
 *
 * The end of a thread.  The loader calls a callback of the module in every thread that ends,
 * whoever created the thread.  It holds its own lock then, as it does while it unloads a module, so
 * no module is unloaded while its callback runs.  For the same reason, no thread may wait for the
 * loader while it holds the library's lock.  Fiber-local storage would end with a fiber, which any
 * thread may delete.
 *
 * In Wine FlushProcessWriteBuffers does nothing, so pools there use the protocol without a barrier
 * (cache.h).
 *
 * ORDERING TABLE
 *   slot | slot_index load, CAS, exchange | relaxed | - | -
 */
#include "base/compiler.h"

#include "host/os.h"

#if defined(_WIN32)

#include "base/atomic.h"
#include "base/error.h"
#include "host/sync.h"

#include <errno.h>
#include <inttypes.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#define WIN32_LEAN_AND_MEAN 1
#include <windows.h>
#undef far /* names that <windows.h> defines as macros */
#undef near
#undef small

const char *cpi_os_environment(const char *name)
{
    return getenv(name);
}

CPI_COLD size_t cpi_os_read_file(const char *path, char *buffer, size_t size)
{
    HANDLE file = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
    DWORD length = 0;
    bool done;

    if (file == INVALID_HANDLE_VALUE)
        return SIZE_MAX;
    done = ReadFile(file, buffer, (DWORD)size, &length, NULL) != 0;
    CloseHandle(file);
    return done ? length : SIZE_MAX;
}

CPI_COLD static void break_off(const char *text)
{
    cpi_write_error(text, strlen(text));
    abort();
}

/* --- Memory --- */

static SYSTEM_INFO system_info(void)
{
    SYSTEM_INFO info;

    GetSystemInfo(&info);
    return info;
}

size_t cpi_os_page_size(void)
{
    return system_info().dwPageSize;
}

size_t cpi_os_address_space(void)
{
    return SIZE_MAX;
}

/* How often other threads may take the address range that this thread has just found. */
#define CPI_RESERVE_TRIES 100

/* Windows cannot release part of a reservation.  So release it all, and reserve an aligned part
 * again. */
void *cpi_os_reserve(size_t size, size_t align)
{
    char *address;
    char *within;
    int tries;

    if (align <= system_info().dwAllocationGranularity)
        return VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_NOACCESS);
    for (tries = 0; size <= SIZE_MAX - align && tries < CPI_RESERVE_TRIES; tries++) {
        within = VirtualAlloc(NULL, size + align, MEM_RESERVE, PAGE_NOACCESS);
        if (within == NULL)
            return NULL;
        address = within + ((size_t)(-(uintptr_t)within) & (align - 1));
        VirtualFree(within, 0, MEM_RELEASE);
        address = VirtualAlloc(address, size, MEM_RESERVE, PAGE_NOACCESS);
        if (address != NULL)
            return address;
    }
    return NULL;
}

bool cpi_os_commit(void *address, size_t size)
{
    return size == 0 || VirtualAlloc(address, size, MEM_COMMIT, PAGE_READWRITE) != NULL;
}

bool cpi_os_close(void *address, size_t size)
{
    return VirtualFree(address, size, MEM_DECOMMIT) != 0;
}

void *cpi_os_map_at(uintptr_t wish, size_t size)
{
    return VirtualAlloc((void *)wish, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void cpi_os_release(void *address, size_t size)
{
    (void)size;
    VirtualFree(address, 0, MEM_RELEASE);
}

/* How often a purge asks again for memory that it has just given up, and how many bytes it gives up
 * at a time. */
#define CPI_PURGE_TRIES 10000u
#define CPI_PURGE_STEP ((size_t)1 << 20)

/* Another process may take the memory between the two calls.  The pool cannot work without it. */
size_t cpi_os_purge(void *address, size_t size)
{
    char *from = address;

    while (size > 0) {
        size_t step = size < CPI_PURGE_STEP ? size : CPI_PURGE_STEP;
        unsigned tries = 0;

        if (!VirtualFree(from, step, MEM_DECOMMIT))
            break;
        while (!cpi_os_commit(from, step)) {
            if (++tries == CPI_PURGE_TRIES)
                break_off("cpool: the system has no memory in place of what it got back\n");
            cpi_os_back_off(tries + CPI_GIVE_WAY);
        }
        from += step;
        size -= step;
    }
    return (size_t)(from - (char *)address);
}

/* --- Time, and other threads --- */

#define CPI_SECOND UINT64_C(1000000000)
#define CPI_MILLISECOND UINT64_C(1000000)

uint64_t cpi_os_now(void)
{
    LARGE_INTEGER frequency;
    LARGE_INTEGER count;
    uint64_t unit;
    uint64_t now;

    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&count);
    unit = (uint64_t)frequency.QuadPart;
    now = (uint64_t)count.QuadPart;
    return now / unit * CPI_SECOND + now % unit * CPI_SECOND / unit;
}

void cpi_os_back_off(unsigned times)
{
    if (times < CPI_GIVE_WAY)
        SwitchToThread();
    else
        Sleep(1);
}

bool cpi_os_barrier(void)
{
    FlushProcessWriteBuffers();
    return true;
}

/* Windows ends all other threads, wherever they are, before it unloads libraries. */
bool cpi_os_process_is_dying(void)
{
    HMODULE ntdll = GetModuleHandleA("ntdll.dll");
    union {
        FARPROC procedure;
        BOOLEAN(NTAPI *ask)(void);
    } dying = {.procedure = ntdll != NULL ? GetProcAddress(ntdll, "RtlDllShutdownInProgress")
                                          : NULL};

    return dying.procedure != NULL && dying.ask() != 0;
}

/* The linker's name for the module that contains the library. */
extern IMAGE_DOS_HEADER __ImageBase;

/* The program's own module is never unloaded. */
bool cpi_os_ends(void)
{
    return (void *)GetModuleHandleA(NULL) == (void *)&__ImageBase || cpi_os_process_is_dying();
}

/* --- Locks and conditions --- */

_Static_assert(sizeof(SRWLOCK) == sizeof(cpi_mutex_t), "a lock is a word");
_Static_assert(sizeof(CONDITION_VARIABLE) == sizeof(cpi_condition_t), "a condition is a word");
_Static_assert(sizeof(INIT_ONCE) == sizeof(cpi_once_t), "a flag is a word");
_Static_assert(sizeof(DWORD) == sizeof(cpi_key_t), "a key is an index");

static SRWLOCK *lock_of(cpi_mutex_t *mutex)
{
    return (SRWLOCK *)(void *)mutex;
}

void cpi_mutex_lock(cpi_mutex_t *mutex)
{
    AcquireSRWLockExclusive(lock_of(mutex));
}

int cpi_mutex_trylock(cpi_mutex_t *mutex)
{
    return TryAcquireSRWLockExclusive(lock_of(mutex)) ? 0 : EBUSY;
}

void cpi_mutex_unlock(cpi_mutex_t *mutex)
{
    ReleaseSRWLockExclusive(lock_of(mutex));
}

bool cpi_condition_init(cpi_condition_t *condition)
{
    InitializeConditionVariable((CONDITION_VARIABLE *)(void *)condition);
    return true;
}

void cpi_condition_signal(cpi_condition_t *condition)
{
    WakeConditionVariable((CONDITION_VARIABLE *)(void *)condition);
}

void cpi_condition_wait(cpi_condition_t *condition, cpi_mutex_t *mutex, uint64_t time)
{
    uint64_t now = cpi_os_now();
    uint64_t left = time > now ? (time - now) / CPI_MILLISECOND + 1 : 0;

    SleepConditionVariableSRW((CONDITION_VARIABLE *)(void *)condition, lock_of(mutex),
                              left < INFINITE ? (DWORD)left : INFINITE - 1, 0); /* repeats */
}

static BOOL CALLBACK run_once(INIT_ONCE *flag, void *function, void **context)
{
    (void)flag;
    (void)context;
    (*(void (**)(void))function)();
    return TRUE;
}

void cpi_once(cpi_once_t *flag, void (*function)(void))
{
    InitOnceExecuteOnce((INIT_ONCE *)(void *)flag, run_once, (void *)&function, NULL);
}

/* --- TLS slots --- */

/* Offsets in a thread's block: its first slots, and the pointer to the others. */
#define CPI_BLOCK_SLOTS 0x1480
#define CPI_BLOCK_MORE_SLOTS 0x1780
#define CPI_FIRST_SLOTS 64u

#define CPI_END_SLOT 2u /* the value for `thread_ends` */
#define CPI_SLOTS 3u
static _Atomic DWORD slot_index[CPI_SLOTS]; /* index + 1, or 0 if not made yet */

/* Returns 0 if the process has no slots left. */
CPI_COLD static DWORD make_slot(unsigned which)
{
    DWORD none = 0;
    DWORD made = TlsAlloc() + 1;

    if (made == 0 ||
        cpi_cas_strong(&slot_index[which], &none, made, relaxed, relaxed)) /* [slot] */
        return made;
    TlsFree(made - 1);
    return none;
}

/* Finds slots where compilers' own code does.  Returns NULL if the process has no slots left.  A
 * thread's later slots need memory. */
static inline uintptr_t *slot_of(unsigned which)
{
    DWORD index = cpi_load(&slot_index[which], relaxed); /* [slot] */
    char *block;
    uintptr_t **more;

    __asm__("movq %%gs:0x30, %0" : "=r"(block));
    if (CPI_UNLIKELY(index == 0) && (index = make_slot(which)) == 0)
        return NULL;
    index--;
    if (CPI_LIKELY(index < CPI_FIRST_SLOTS))
        return (uintptr_t *)(void *)(block + CPI_BLOCK_SLOTS) + index;
    more = (uintptr_t **)(void *)(block + CPI_BLOCK_MORE_SLOTS);
    if (*more == NULL && !TlsSetValue(index, NULL))
        break_off("cpool: the system has no memory for slots of a thread\n");
    return *more + (index - CPI_FIRST_SLOTS);
}

uintptr_t *cpi_os_thread_slot(unsigned which)
{
    uintptr_t *slot = slot_of(which);

    if (slot == NULL)
        break_off("cpool: the process has no slots of threads left\n");
    return slot;
}

#if !defined(__clang__)

/* Without a TLS slot no pool can be created, so nobody writes to the word that all threads
 * share. */
uintptr_t *cpool_thread_word_(void)
{
    uintptr_t *word = slot_of(0);

    if (word == NULL)
        return (uintptr_t *)(uintptr_t)&cpi_thread_no_table;
    if (CPI_UNLIKELY(*word == 0))
        *word = cpi_thread_no_table;
    return word;
}

#endif

void cpi_os_unload(void)
{
    unsigned which;

    for (which = 0; which < CPI_SLOTS; which++)
        TlsFree(cpi_exchange(&slot_index[which], 0u, relaxed) - 1); /* [slot] */
}

/* --- The end of threads --- */

typedef void at_end(void *value);
static at_end *thread_ends;
static bool has_barrier;

static void NTAPI thread_event(void *module, DWORD reason, void *reserved)
{
    DWORD index = cpi_load(&slot_index[CPI_END_SLOT], relaxed); /* [slot] */

    (void)module;
    (void)reserved;
    if (reason == DLL_THREAD_DETACH && index != 0 && TlsGetValue(index - 1) != NULL)
        thread_ends(TlsGetValue(index - 1));
}

/* Runs after the compilers' own callbacks, which call destructors. */
static const PIMAGE_TLS_CALLBACK thread_callback
    __attribute__((__section__(".CRT$XLY"), __used__)) = thread_event;

/* Makes all slots now, so that nothing fails later.  Also finds out whether this is Wine, while no
 * lock is held. */
int cpi_key_create(cpi_key_t *key, void (*ended)(void *value))
{
    HMODULE ntdll = GetModuleHandleA("ntdll.dll");
    unsigned which;

    for (which = 0; which < CPI_SLOTS; which++)
        if (cpi_load(&slot_index[which], relaxed) == 0 && make_slot(which) == 0) /* [slot] */
            return ENOMEM;
    has_barrier = ntdll != NULL && GetProcAddress(ntdll, "wine_get_version") == NULL;
    thread_ends = ended;
    *key = cpi_load(&slot_index[CPI_END_SLOT], relaxed) - 1; /* [slot] */
    return 0;
}

int cpi_key_set(cpi_key_t key, const void *value)
{
    return TlsSetValue(key, (void *)(uintptr_t)value) ? 0 : ENOMEM;
}

bool cpi_os_barrier_ready(void)
{
    return has_barrier;
}

/* --- Reports --- */

void cpi_write_error(const char *text, size_t length)
{
    int saved = errno;

    while (length > 0) {
        int written = _write(2, text, length < INT_MAX ? (unsigned)length : INT_MAX);

        if (written <= 0)
            break;
        text += written;
        length -= (size_t)written;
    }
    errno = saved;
}

uintptr_t cpi_trace_thread(void)
{
    return GetCurrentThreadId();
}

void cpi_trace_forked(void)
{
}

/* Names of functions are in debug files only. */
void cpi_trace_name(struct cpi_text *text, uintptr_t address)
{
    const DWORD asked = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                        GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    char path[MAX_PATH];
    const char *slash;
    HMODULE module;

    if (!GetModuleHandleExA(asked, (const char *)(address - 1), &module) ||
        GetModuleFileNameA(module, path, sizeof path) == 0) {
        cpi_text_add(text, "0x%" PRIxPTR, address);
        return;
    }
    path[sizeof path - 1] = '\0';
    slash = strrchr(path, '\\');
    cpi_text_add(text, "%s+0x%" PRIxPTR, slash != NULL ? slash + 1 : path,
                 address - 1 - (uintptr_t)module);
}

size_t cpi_trace_stack(uintptr_t *stack, size_t n)
{
    void *frames[CPI_STACK_MAX];
    unsigned found = CaptureStackBackTrace(0, n < CPI_STACK_MAX ? (DWORD)n : CPI_STACK_MAX, frames,
                                           NULL);

    for (unsigned i = 0; i < found; i++)
        stack[i] = (uintptr_t)frames[i];
    return found;
}

void cpi_trace_modules(cpool_write_t write, void *arg)
{
    (void)write;
    (void)arg;
}

/* --- Traps --- */

static cpi_trapped_t *trap_hook;
static void *trap_handler;

static LONG CALLBACK trap_exception(EXCEPTION_POINTERS *pointers)
{
    const EXCEPTION_RECORD *record = pointers->ExceptionRecord;

    if (record->ExceptionCode == EXCEPTION_ACCESS_VIOLATION && record->NumberParameters >= 2)
        trap_hook((uintptr_t)record->ExceptionInformation[1], CPI_CALLER());
    return EXCEPTION_CONTINUE_SEARCH;
}

void cpi_os_catch_traps(cpi_trapped_t *trapped)
{
    if (trapped == NULL && trap_handler != NULL)
        RemoveVectoredExceptionHandler(trap_handler);
    if (trapped == NULL || trap_hook != NULL)
        return;
    trap_hook = trapped;
    trap_handler = AddVectoredExceptionHandler(1, trap_exception);
}

#endif /* _WIN32 */
