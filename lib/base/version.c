/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * version.c - which version the library is, at run time.
 */
#include <cpool.h>

const char *cpool_version(void)
{
    return CPOOL_VERSION;
}

unsigned cpool_version_number(void)
{
    return CPOOL_VERSION_NUMBER;
}
