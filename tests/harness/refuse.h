/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refuse.h - an operating system that refuses chosen calls, and a ledger of what it has
 * given.
 *
 * Programs that use it are linked with $(tests_refuse_ldflags), which send these calls of
 * the library through refuse.c.  Includes the C library only.
 */
#ifndef CPOOL_TESTS_REFUSE_H
#define CPOOL_TESTS_REFUSE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The calls that can be refused, and their names in tables.  COND_ATTR stands for
 * pthread_condattr_init and pthread_condattr_setclock.
 *
 * The other calls of the library have no reason to fail that a caller could not avoid.
 * clock_gettime of CLOCK_MONOTONIC fails for an unknown clock or a wrong pointer, a lock or
 * wait of POSIX threads for a wrong argument, and sleeps end early at worst.
 */
#define REFUSE_CALLS(X)                                                                      \
    X(MMAP) X(MUNMAP) X(MPROTECT) X(MADVISE) X(MEMBARRIER) X(OPEN) X(READ)        \
    X(WRITE) X(MALLOC) X(CALLOC) X(REALLOC) X(ALIGNED_ALLOC) X(POSIX_MEMALIGN) X(ATEXIT)     \
    X(ATFORK) X(KEY_CREATE) X(SETSPECIFIC) X(COND_ATTR) X(COND_INIT)

#define REFUSE_ENUM(name) name,
enum refuse_call { REFUSE_CALLS(REFUSE_ENUM) REFUSE_MEMORY };

const char *refuse_name(enum refuse_call call);

/* Once, before the children are forked, with which all of it is shared. */
void refuse_init(void);

/* From now on this process's calls are counted, and the number-th of this kind is refused,
 * from 1 on.  With `lasting` all calls that follow are refused, too, of any kind.  A barrier is
 * refused only where it is the kind, because a system without memory has it.  REFUSE_MEMORY
 * stands for the first five kinds, and then no others are counted.  Number 0 refuses none. */
void refuse_arm(enum refuse_call call, size_t number, bool lasting);
void refuse_disarm(void);

/* Calls since it was armed, those that were refused of them, and the kind of the i-th. */
size_t refuse_calls(void);
size_t refuse_refused(void);
enum refuse_call refuse_kind(size_t i);

/* Things that this process has been given and has not given back.  A refused munmap counts as one:
 * nobody can give those addresses back. */
struct refuse_ledger {
    long mapped; /* bytes */
    long blocks; /* of the heap */
    long keys;   /* of thread-specific data */
    long files;
    long conditions; /* of POSIX threads, and their attributes */
};

struct refuse_ledger refuse_ledger(void);

#endif /* CPOOL_TESTS_REFUSE_H */
