/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * version.c - which version the library is, at run time.
 */
#include <cpool.h>

unsigned cpool_version(void)
{
    return CPOOL_VERSION_NUMBER;
}
