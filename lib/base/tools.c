/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools.c - requests to sanitizers and to Valgrind.
 */
#include "base/tools.h"

#include <stdint.h>

#if !defined(NVALGRIND) && defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif

/* A request to Valgrind, which has no effect in a process that does not run under it.  One function
 * holds its instructions. */
#if defined(RUNNING_ON_VALGRIND)
#define CPI_REQUEST(name, a, b, c, d)                                                  \
    ask_valgrind(VG_USERREQ__##name, (uintptr_t)(a), (uintptr_t)(b), (uintptr_t)(c), (uintptr_t)(d))
CPI_APART static uintptr_t ask_valgrind(uintptr_t name, uintptr_t a, uintptr_t b, uintptr_t c,
                                        uintptr_t d)
{
    return VALGRIND_DO_CLIENT_REQUEST_EXPR(0, name, a, b, c, d, 0);
}
#else
#define CPI_REQUEST(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d), (uintptr_t)0)
#define VALGRIND_DISABLE_ERROR_REPORTING ((void)0)
#define VALGRIND_ENABLE_ERROR_REPORTING ((void)0)
#define VALGRIND_PRINTF_BACKTRACE(...) ((void)0)
#endif

/* The interface of compiler-rt, which GCC copies: NULL unless the program brings it along. */
#if defined(__ELF__)
/* Defined by another object, even if this one hides its own symbols. */
#define CPI_WEAK __attribute__((__weak__, __visibility__("default")))
void __asan_poison_memory_region(const volatile void *from, size_t size) CPI_WEAK;
void __asan_unpoison_memory_region(const volatile void *from, size_t size) CPI_WEAK;
void __lsan_register_root_region(const void *from, size_t size) CPI_WEAK;
void __lsan_unregister_root_region(const void *from, size_t size) CPI_WEAK;
void __msan_allocated_memory(const volatile void *from, size_t size) CPI_WEAK;
void __msan_unpoison(const volatile void *from, size_t size) CPI_WEAK;
void __msan_unpoison_param(size_t arguments) CPI_WEAK;
void __tsan_acquire(void *address) CPI_WEAK;
void __tsan_release(void *address) CPI_WEAK;
void __tsan_ignore_thread_begin(void) CPI_WEAK;
void __tsan_ignore_thread_end(void) CPI_WEAK;
void __sanitizer_print_stack_trace(void) CPI_WEAK;
#else
typedef void (*of_range)(const volatile void *, size_t);
typedef void (*of_address)(void *);
#define __asan_poison_memory_region ((of_range)NULL)
#define __asan_unpoison_memory_region ((of_range)NULL)
#define __lsan_register_root_region ((of_range)NULL)
#define __lsan_unregister_root_region ((of_range)NULL)
#define __msan_allocated_memory ((of_range)NULL)
#define __msan_unpoison ((of_range)NULL)
#define __msan_unpoison_param ((void (*)(size_t))NULL)
#define __tsan_acquire ((of_address)NULL)
#define __tsan_release ((of_address)NULL)
#define __tsan_ignore_thread_begin ((void (*)(void))NULL)
#define __tsan_ignore_thread_end ((void (*)(void))NULL)
#define __sanitizer_print_stack_trace ((void (*)(void))NULL)
#endif

CPI_APART static bool is_memcheck(void)
{
    char probe = 0;

    /* Valgrind's other tools do not know the second request, and return 0. */
    return CPI_REQUEST(RUNNING_ON_VALGRIND, 0, 0, 0, 0) != 0 &&
           CPI_REQUEST(MAKE_MEM_DEFINED, &probe, 1, 0, 0) != 0;
}

unsigned cpi_tools_found(void)
{
    unsigned found = 0;

    if (!CPI_TOOLS)
        return 0;
    if (__asan_poison_memory_region != NULL && __asan_unpoison_memory_region != NULL)
        found |= CPI_TOOL_ASAN;
    if (__msan_allocated_memory != NULL && __msan_unpoison != NULL)
        found |= CPI_TOOL_MSAN;
    if (!CPI_THREAD_SANITIZER && __tsan_acquire != NULL && __tsan_release != NULL)
        found |= CPI_TOOL_TSAN;
    if (is_memcheck())
        found |= CPI_TOOL_MEMCHECK;
    return found;
}

/* --- Pools --- */

CPI_COLD void cpi_tools_add_root(const void *from, size_t size)
{
    if (__lsan_register_root_region != NULL)
        __lsan_register_root_region(from, size);
}

CPI_COLD void cpi_tools_remove_root(const void *from, size_t size)
{
    if (__lsan_unregister_root_region != NULL)
        __lsan_unregister_root_region(from, size);
}

void cpi_tools_open(unsigned tools, const void *pool, void *from, size_t size, size_t usable,
                    size_t gap)
{
    cpi_tools_add_root(from, size); /* also in pools that are not announced */
    /* Clang's analyzer does not see that the first condition implies the second. */
    if ((tools & CPI_TOOL_ASAN) != 0 && __asan_poison_memory_region != NULL)
        __asan_poison_memory_region(from, usable);
    if ((tools & CPI_TOOL_MEMCHECK) != 0) {
        (void)CPI_REQUEST(CREATE_MEMPOOL, pool, gap, false, 0);
        (void)CPI_REQUEST(MAKE_MEM_NOACCESS, from, usable, 0, 0);
    }
}

void cpi_tools_close(unsigned tools, const void *pool, void *from, size_t size, size_t usable)
{
    if ((tools & CPI_TOOL_ASAN) != 0)
        __asan_unpoison_memory_region(from, usable);
    if ((tools & CPI_TOOL_MSAN) != 0)
        __msan_unpoison(from, usable);
    if ((tools & CPI_TOOL_MEMCHECK) != 0) {
        (void)CPI_REQUEST(MAKE_MEM_DEFINED, from, usable, 0, 0);
        (void)CPI_REQUEST(DESTROY_MEMPOOL, pool, 0, 0, 0);
    }
    cpi_tools_remove_root(from, size);
}

/* --- Slots --- */

void cpi_tools_taken(unsigned tools, const void *pool, void *slot, size_t size)
{
    if ((tools & CPI_TOOL_TSAN) != 0)
        __tsan_acquire(slot);
    if ((tools & CPI_TOOL_ASAN) != 0)
        __asan_unpoison_memory_region(slot, size);
    if ((tools & CPI_TOOL_MSAN) != 0)
        __msan_allocated_memory(slot, size);
    if ((tools & CPI_TOOL_MEMCHECK) != 0)
        (void)CPI_REQUEST(MEMPOOL_ALLOC, pool, slot, size, 0);
}

void cpi_tools_given(unsigned tools, const void *pool, void *slot, size_t size)
{
    if ((tools & CPI_TOOL_MEMCHECK) != 0)
        (void)CPI_REQUEST(MEMPOOL_FREE, pool, slot, 0, 0);
    if ((tools & CPI_TOOL_MSAN) != 0)
        __msan_allocated_memory(slot, size);
    if ((tools & CPI_TOOL_ASAN) != 0)
        __asan_poison_memory_region(slot, size);
    if ((tools & CPI_TOOL_TSAN) != 0)
        __tsan_release(slot);
}

/* Memcheck ignores the outer block then, which it would otherwise report as possibly lost. */
bool cpi_tools_block(void *block, size_t size, bool taken)
{
    if (!CPI_TOOLS || !is_memcheck())
        return false;
    if (block != NULL && taken)
        (void)CPI_REQUEST(MALLOCLIKE_BLOCK, block, size, 0, false);
    if (block != NULL && !taken) {
        (void)CPI_REQUEST(FREELIKE_BLOCK, block, 0, 0, 0);
        (void)CPI_REQUEST(MAKE_MEM_UNDEFINED, block, size, 0, 0); /* its owner may write there */
    }
    return true;
}

/* --- The library's own accesses --- */

void cpi_tools_wrote(const void *from, size_t size)
{
    if (CPI_UNLIKELY(__msan_unpoison != NULL))
        __msan_unpoison(from, size);
}

void cpi_tools_call(size_t arguments)
{
    if (CPI_UNLIKELY(__msan_unpoison_param != NULL))
        __msan_unpoison_param(arguments);
}

void cpi_tools_pause(void)
{
    VALGRIND_DISABLE_ERROR_REPORTING;
}

void cpi_tools_resume(void)
{
    VALGRIND_ENABLE_ERROR_REPORTING;
}

CPI_COLD void cpi_tools_ignore(bool ignores)
{
    void (*change)(void) = ignores ? __tsan_ignore_thread_begin : __tsan_ignore_thread_end;

    if (!CPI_THREAD_SANITIZER && CPI_UNLIKELY(change != NULL))
        change();
}

CPI_COLD void cpi_tools_print_stack(void)
{
    if (__sanitizer_print_stack_trace != NULL)
        __sanitizer_print_stack_trace();
    VALGRIND_PRINTF_BACKTRACE("%s", "");
}
