/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refuse.c - the calls that the linker sends here (refuse.h).
 */
#include "support.h"

#include "refuse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/types.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

/* The function that the linker sends the calls of this name to.  The C library's own is
 * __real_name. */
#define WRAP(result, name, ...)               \
    result __real_##name(__VA_ARGS__);        \
    result __wrap_##name(__VA_ARGS__);        \
    result __wrap_##name(__VA_ARGS__)

/* So many calls are listed, the first ones. */
enum { KEPT = 256 };

struct refusals {
    enum refuse_call call;
    size_t number; /* 0: none is refused */
    bool lasting;
    _Atomic size_t of_call;
    _Atomic size_t calls;
    _Atomic size_t refused;
    _Atomic unsigned char kinds[KEPT];
};

static struct refusals *refusals;
static _Atomic bool armed; /* this process */

/* Changed by the threads of one process, one at a time. */
static struct refuse_ledger ledger;

static const char *const names[] = {
#define REFUSE_TEXT(name) #name,
    REFUSE_CALLS(REFUSE_TEXT)
};

const char *refuse_name(enum refuse_call call)
{
    return names[call];
}

void *__real_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);

void refuse_init(void)
{
    refusals = __real_mmap(NULL, sizeof *refusals, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(refusals != MAP_FAILED);
}

void refuse_arm(enum refuse_call call, size_t number, bool lasting)
{
    /* relaxed, here and below: each counts by itself. */
    atomic_store_explicit(&refusals->calls, 0, memory_order_relaxed);
    atomic_store_explicit(&refusals->of_call, 0, memory_order_relaxed);
    atomic_store_explicit(&refusals->refused, 0, memory_order_relaxed);
    refusals->call = call;
    refusals->number = number;
    refusals->lasting = lasting;
    atomic_store_explicit(&armed, true, memory_order_relaxed);
}

void refuse_disarm(void)
{
    atomic_store_explicit(&armed, false, memory_order_relaxed);
}

size_t refuse_calls(void)
{
    return atomic_load_explicit(&refusals->calls, memory_order_relaxed);
}

size_t refuse_refused(void)
{
    return atomic_load_explicit(&refusals->refused, memory_order_relaxed);
}

enum refuse_call refuse_kind(size_t i)
{
    REQUIRE(i < KEPT);
    return (enum refuse_call)atomic_load_explicit(&refusals->kinds[i], memory_order_relaxed);
}

struct refuse_ledger refuse_ledger(void)
{
    return ledger;
}

/* Whether this call is to fail, with this error. */
static bool is_refused(enum refuse_call call, int error)
{
    size_t before;
    bool refused;

    if (!atomic_load_explicit(&armed, memory_order_relaxed) ||
        (refusals->call == REFUSE_MEMORY && call > MADVISE))
        return false;
    before = atomic_fetch_add_explicit(&refusals->calls, 1, memory_order_relaxed);
    if (before < KEPT)
        atomic_store_explicit(&refusals->kinds[before], (unsigned char)call, memory_order_relaxed);
    refused = refusals->lasting && refuse_refused() > 0 &&
              (call != MEMBARRIER || refusals->call == MEMBARRIER);
    if (call == refusals->call || refusals->call == REFUSE_MEMORY)
        refused |= atomic_fetch_add_explicit(&refusals->of_call, 1, memory_order_relaxed) + 1 ==
                   refusals->number;
    if (!refused)
        return false;
    atomic_fetch_add_explicit(&refusals->refused, 1, memory_order_relaxed);
    errno = error;
    return true;
}

/* --- Memory --- */

#if !defined(MAP_NORESERVE)
#define MAP_NORESERVE 0
#endif

/* A system that does not know the flag is asked again here, so that the library makes as many
 * calls everywhere. */
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    void *result;

    if (is_refused(MMAP, ENOMEM))
        return MAP_FAILED;
    result = __real_mmap(address, size, protection, flags, file, offset);
    if (result == MAP_FAILED && errno == EINVAL)
        result = __real_mmap(address, size, protection, flags & ~MAP_NORESERVE, file, offset);
    if (result != MAP_FAILED && (flags & MAP_FIXED) == 0)
        ledger.mapped += (long)size;
    return result;
}

WRAP(int, munmap, void *address, size_t size)
{
    ledger.mapped -= (long)size;
    return is_refused(MUNMAP, ENOMEM) ? -1 : __real_munmap(address, size);
}

WRAP(int, mprotect, void *address, size_t size, int protection)
{
    return is_refused(MPROTECT, ENOMEM) ? -1 : __real_mprotect(address, size, protection);
}

WRAP(int, madvise, void *address, size_t size, int advice)
{
    return is_refused(MADVISE, ENOMEM) ? -1 : __real_madvise(address, size, advice);
}

/* --- The heap --- */

static void *count_block(void *block)
{
    ledger.blocks += block != NULL;
    return block;
}

WRAP(void *, malloc, size_t size)
{
    return is_refused(MALLOC, ENOMEM) ? NULL : count_block(__real_malloc(size));
}

WRAP(void *, calloc, size_t count, size_t size)
{
    return is_refused(CALLOC, ENOMEM) ? NULL : count_block(__real_calloc(count, size));
}

WRAP(void *, realloc, void *block, size_t size)
{
    if (is_refused(REALLOC, ENOMEM))
        return NULL;
    return block != NULL ? __real_realloc(block, size) : count_block(__real_realloc(NULL, size));
}

WRAP(void *, aligned_alloc, size_t align, size_t size)
{
    return is_refused(ALIGNED_ALLOC, ENOMEM) ? NULL
                                             : count_block(__real_aligned_alloc(align, size));
}

WRAP(int, posix_memalign, void **block, size_t align, size_t size)
{
    int code;

    if (is_refused(POSIX_MEMALIGN, ENOMEM))
        return ENOMEM;
    code = __real_posix_memalign(block, align, size);
    ledger.blocks += code == 0;
    return code;
}

WRAP(void, free, void *block)
{
    ledger.blocks -= block != NULL;
    __real_free(block);
}

/* --- Threads and the process --- */

WRAP(int, pthread_key_create, pthread_key_t *key, void (*destructor)(void *))
{
    int code = is_refused(KEY_CREATE, EAGAIN) ? EAGAIN : __real_pthread_key_create(key, destructor);

    ledger.keys += code == 0;
    return code;
}

WRAP(int, pthread_key_delete, pthread_key_t key)
{
    ledger.keys--;
    return __real_pthread_key_delete(key);
}

WRAP(int, pthread_setspecific, pthread_key_t key, const void *value)
{
    return is_refused(SETSPECIFIC, ENOMEM) ? ENOMEM : __real_pthread_setspecific(key, value);
}

WRAP(int, pthread_atfork, void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return is_refused(ATFORK, ENOMEM) ? ENOMEM : __real_pthread_atfork(prepare, parent, child);
}

WRAP(int, atexit, void (*function)(void))
{
    return is_refused(ATEXIT, ENOMEM) ? -1 : __real_atexit(function);
}

WRAP(int, pthread_condattr_init, pthread_condattr_t *attributes)
{
    int code = is_refused(COND_ATTR, ENOMEM) ? ENOMEM : __real_pthread_condattr_init(attributes);

    ledger.conditions += code == 0;
    return code;
}

WRAP(int, pthread_condattr_setclock, pthread_condattr_t *attributes, clockid_t clock)
{
    return is_refused(COND_ATTR, EINVAL) ? EINVAL
                                         : __real_pthread_condattr_setclock(attributes, clock);
}

WRAP(int, pthread_condattr_destroy, pthread_condattr_t *attributes)
{
    ledger.conditions--;
    return __real_pthread_condattr_destroy(attributes);
}

/* Makes the condition also where that is refused, so that a caller that does not notice
 * does the same in every run. */
WRAP(int, pthread_cond_init, pthread_cond_t *condition, const pthread_condattr_t *attributes)
{
    int code = __real_pthread_cond_init(condition, attributes);

    if (code == 0 && is_refused(COND_INIT, EAGAIN))
        return EAGAIN;
    ledger.conditions += code == 0;
    return code;
}

WRAP(int, pthread_cond_destroy, pthread_cond_t *condition)
{
    ledger.conditions--;
    return __real_pthread_cond_destroy(condition);
}

/* --- Files and other calls --- */

/* The library creates no file, so there is no mode. */
WRAP(int, openat, int folder, const char *path, int flags, ...)
{
    int file = is_refused(OPEN, EMFILE) ? -1 : __real_openat(folder, path, flags);

    ledger.files += file >= 0;
    return file;
}

WRAP(int, close, int file)
{
    ledger.files--;
    return __real_close(file);
}

WRAP(ssize_t, read, int file, void *bytes, size_t size)
{
    return is_refused(READ, EIO) ? -1 : __real_read(file, bytes, size);
}

WRAP(ssize_t, write, int file, const void *bytes, size_t size)
{
    return is_refused(WRITE, EAGAIN) ? -1 : __real_write(file, bytes, size);
}

/* Of what the library calls in this way, only the barrier has arguments. */
WRAP(long, syscall, long number, ...)
{
    long arguments[2];
    va_list list;

#if defined(SYS_membarrier)
    if (number == SYS_membarrier && is_refused(MEMBARRIER, EPERM))
        return -1;
#endif
    va_start(list, number);
    arguments[0] = va_arg(list, int);
    arguments[1] = va_arg(list, int);
    va_end(list);
    return __real_syscall(number, arguments[0], arguments[1]);
}
