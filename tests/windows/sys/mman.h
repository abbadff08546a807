/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mman.h - private anonymous memory by the names of POSIX, for Windows.
 */
#ifndef CPOOL_TESTS_WINDOWS_MMAN_H
#define CPOOL_TESTS_WINDOWS_MMAN_H

#include <stddef.h>

#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE 0
#define MAP_ANONYMOUS 0
#define MAP_NORESERVE 0
#define MAP_FAILED ((void *)-1)
#define MADV_DONTNEED 4

/* Maps anywhere.  PROT_NONE: the addresses alone. */
void *mmap(void *address, size_t size, int protection, int flags, int file, long long offset);
/* Whole maps. */
int munmap(void *address, size_t size);
int mprotect(void *address, size_t size, int protection);
/* MADV_DONTNEED alone. */
int madvise(void *address, size_t size, int advice);

#endif /* CPOOL_TESTS_WINDOWS_MMAN_H */
