/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * structs.c - the library's version, and public structures of other versions' sizes.
 */
#include "base/structs.h"

#include <string.h>

#include "base/tools.h"

unsigned cpool_version(void)
{
    return CPOOL_VERSION_NUMBER;
}

int cpi_struct_check(const void *given)
{
    size_t size = *(const size_t *)given;

    return size < sizeof size || size > CPI_STRUCT_MAX ? CPOOL_ESTRUCT : 0;
}

CPI_COLD int cpi_struct_read(void *known, size_t size, const void *given)
{
    const unsigned char *bytes = given;
    size_t given_size = *(const size_t *)given;

    if (cpi_struct_check(given) != 0)
        return CPOOL_ESTRUCT;
    for (size_t i = size; i < given_size; i++)
        if (bytes[i] != 0)
            return CPOOL_ESTRUCT;
    memset(known, 0, size);
    memcpy(known, given, size < given_size ? size : given_size);
    memcpy(known, &size, sizeof size);
    return 0;
}

void cpi_struct_write(void *given, const void *known, size_t size)
{
    unsigned char *to = given;
    const unsigned char *from = known;
    size_t given_size = *(const size_t *)given;
    size_t common = size < given_size ? size : given_size;

    memcpy(to + sizeof size, from + sizeof size, common - sizeof size);
    memset(to + common, 0, given_size - common);
    cpi_tools_wrote(given, given_size);
}
