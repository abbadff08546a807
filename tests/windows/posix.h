/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * posix.h - the part of POSIX that the tests, the stress program and the examples call, for
 * Windows.
 *
 * Included by check.h, by the headers in sys/, or by the compiler's option -include.
 */
#ifndef CPOOL_TESTS_WINDOWS_POSIX_H
#define CPOOL_TESTS_WINDOWS_POSIX_H

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#define setenv(name, value, again) _putenv_s((name), (value))
#define unsetenv(name) _putenv_s((name), "")

/* Its blocks are never given back: posix.c has a free() that knows them. */
int posix_memalign(void **memory, size_t align, size_t size);
void *aligned_alloc(size_t align, size_t size);

#define _SC_PAGESIZE 1
#define _SC_NPROCESSORS_ONLN 2
long sysconf(int name);

int pipe(int ends[2]);
int pause(void);

/* One stream at a time.  fclose makes the text. */
FILE *open_memstream(char **text, size_t *length);
int posix_fclose(FILE *file);
#define fclose posix_fclose

/* Skip the test that calls one. */
pid_t fork(void);
pid_t waitpid(pid_t child, int *status, int options);

/* As its own header does not say. */
void WINPTHREAD_API pthread_exit(void *result) __attribute__((__noreturn__));

#endif /* CPOOL_TESTS_WINDOWS_POSIX_H */
