/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.c - thread numbers, backtraces, and names of addresses.
 *
 * The GNU C library has backtraces.  Elsewhere a trace is the call's own site.
 *
 * ORDERING TABLE
 *
 *   tag     | operation            | order   | pairs with        | publishes
 *   walk    | walkers, in and out  | seq_cst | the copy at fork  | nothing: who is inside
 *   forked  | walkers, in a child  | relaxed | one thread        | nothing
 *   ready   | is_ready, set, read  | relaxed | pool's creation   | nothing
 */
#include "base/compiler.h"

#include "host/trace.h"

#if !defined(_WIN32)

#include "base/atomic.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#if CPI_LINUX
#include <link.h>
#include <sys/syscall.h>
#endif
#if defined(__GLIBC__) && !defined(CPOOL_PLAIN_POSIX)
#include <execinfo.h>
#endif

/* Frames of the library's own that may lie above a site. */
#define CPI_TRACE_INSIDE ((size_t)8)

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

/* A backtrace may take locks of the loader's.  The child of a fork inherits those that
 * other threads held, and would wait for ever. */
static _Atomic size_t walkers;
static bool may_not_walk; /* written where there is one thread */

void cpi_trace_forked(void)
{
    thread_number = 0;
    if (cpi_load(&walkers, relaxed) != 0) /* [forked] */
        may_not_walk = true;
}

#if defined(__GLIBC__) && !defined(CPOOL_PLAIN_POSIX)

static _Atomic bool is_ready;

static size_t count_and_walk(void **stack, size_t n)
{
    int depth;

    if (may_not_walk)
        return 0;
    /* A fork copies memory at some moment.  No walker that is not counted holds a lock in
     * that copy. */
    cpi_fetch_add(&walkers, 1, seq_cst); /* [walk] */
    depth = backtrace(stack, (int)n);
    cpi_fetch_add(&walkers, (size_t)-1, seq_cst); /* [walk] */
    return depth > 0 ? (size_t)depth : 0;
}

/* Its first call loads another library. */
bool cpi_trace_ready(void)
{
    void *frame;

    if (!cpi_load(&is_ready, relaxed) && count_and_walk(&frame, 1) == 1) /* [ready] */
        cpi_store(&is_ready, true, relaxed);                             /* [ready] */
    return cpi_load(&is_ready, relaxed);                                 /* [ready] */
}

static size_t walk(void **stack, size_t n)
{
    if (!cpi_load(&is_ready, relaxed)) /* [ready] */
        return 0;
    return count_and_walk(stack, n);
}

#else

bool cpi_trace_ready(void)
{
    return false;
}

static size_t walk(void **stack, size_t n)
{
    (void)stack;
    (void)n;
    return 0;
}

#endif

void cpi_trace_take(uintptr_t *frames, size_t n, const void *site)
{
    void *stack[CPI_TRACE_MAX + CPI_TRACE_INSIDE];
    size_t depth;
    size_t i;
    size_t k;

    memset(frames, 0, n * sizeof frames[0]);
    frames[0] = (uintptr_t)site;
    if (n == 1)
        return;
    depth = walk(stack, n + CPI_TRACE_INSIDE);
    for (i = 0; i < depth && stack[i] != site; i++)
        ;
    for (k = 1; k < n && i + k < depth; k++)
        frames[k] = (uintptr_t)stack[i + k];
}

/* The number that tools for a module want: its distance from where the module was
 * loaded, or the address itself in a program of fixed addresses. */
static uintptr_t offset_in(const Dl_info *info, uintptr_t address)
{
#if CPI_LINUX
    const ElfW(Ehdr) *header = info->dli_fbase;

    if (memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_type == ET_EXEC)
        return address;
#endif
    return address - (uintptr_t)info->dli_fbase;
}

void cpi_trace_name(struct cpi_text *text, uintptr_t address)
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

#endif /* not _WIN32 */
