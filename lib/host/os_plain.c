/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os_plain.c - os.h for systems other than Linux: without advice about memory.
 *
 * There is no way to ask for huge pages, and the library touches pages itself to have them
 * resident.
 */
#include "base/compiler.h"

#include "host/os.h"

#if !CPI_LINUX

size_t cpi_os_huge_page_size(void)
{
    return cpi_os_page_size();
}

void cpi_os_want_huge_pages(void *address, size_t size)
{
    (void)address;
    (void)size;
}

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

#endif /* not Linux */
