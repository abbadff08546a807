/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * syscall.h - write(2), of which the tests learn whether an address can be read, for Windows.
 */
#ifndef CPOOL_TESTS_WINDOWS_SYSCALL_H
#define CPOOL_TESTS_WINDOWS_SYSCALL_H

#include <stddef.h>

#define SYS_write 1
/* Returns 1, or -1 with EFAULT for an address that cannot be read. */
long syscall(long number, int file, const void *address, size_t size);

#endif /* CPOOL_TESTS_WINDOWS_SYSCALL_H */
