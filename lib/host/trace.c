/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.c - thread numbers, and names of addresses.
 */
#include "base/compiler.h"

#include "host/trace.h"

#if !defined(_WIN32)

#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#if CPI_LINUX
#include <link.h>
#include <sys/syscall.h>
#endif

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

void cpi_trace_forked(void)
{
    thread_number = 0;
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
