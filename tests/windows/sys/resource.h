/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resource.h - limits that skip the test that would set them, for Windows.
 */
#ifndef CPOOL_TESTS_WINDOWS_RESOURCE_H
#define CPOOL_TESTS_WINDOWS_RESOURCE_H

#include <stddef.h>

typedef size_t rlim_t;
struct rlimit {
    rlim_t rlim_cur;
    rlim_t rlim_max;
};
struct rusage {
    long ru_minflt;
    long ru_majflt;
    long ru_maxrss; /* KiB */
};

#define RLIM_INFINITY ((rlim_t)-1)
#define RLIMIT_DATA 0
#define RUSAGE_SELF 0

int getrlimit(int resource, struct rlimit *limit);
int setrlimit(int resource, const struct rlimit *limit);
int getrusage(int which, struct rusage *usage);

#endif /* CPOOL_TESTS_WINDOWS_RESOURCE_H */
