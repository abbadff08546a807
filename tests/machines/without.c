/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * without.c - runs a program on a system that lacks something.
 *
 *   without FEATURE PROGRAM [ARGUMENT...]
 *
 *   membarrier   membarrier(2) says ENOSYS, as before Linux 4.3
 *   thp          no transparent huge pages for this process
 *   noreserve    mmap(2) with MAP_NORESERVE says EINVAL
 *
 * Includes the system's headers only, and nothing of the library.  A feature that is
 * taken away stays away from the program and all its children: system calls by a
 * filter, which can not be removed again.  Before the program is started the feature is
 * tried, and has to be gone.  Exit status 77 says that this system cannot take it away.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define EXIT_SKIPPED 77

#if defined(__linux__)

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* A system call's number by which mmap is known: its arguments are passed one by
 * one where there is this one, or there is no other. */
#if defined(SYS_mmap2)
#define MAP_CALL SYS_mmap2
#else
#define MAP_CALL SYS_mmap
#endif

/* Where the filter finds the lower half of an argument of 64 bits. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LOWER_HALF 4u
#else
#define LOWER_HALF 0u
#endif
#define ARGUMENT(i) ((uint32_t)(offsetof(struct seccomp_data, args) + (i) * 8u + LOWER_HALF))
#define FLAGS_OF_MMAP 3u

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define LOAD_NUMBER LOAD((uint32_t)offsetof(struct seccomp_data, nr))
#define REFUSAL(error) (SECCOMP_RET_ERRNO | (uint32_t)(error))

static bool install(struct sock_filter *instructions, size_t count)
{
    struct sock_fprog program = { (unsigned short)count, instructions };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

static bool without_membarrier(void)
{
    struct sock_filter filter[] = {
        LOAD_NUMBER,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)SYS_membarrier, 0, 1),
        RETURN(REFUSAL(ENOSYS)),
        RETURN(SECCOMP_RET_ALLOW),
    };

    if (!install(filter, sizeof(filter) / sizeof(filter[0])))
        return false;
    return syscall(SYS_membarrier, 0, 0, 0) == -1 && errno == ENOSYS;
}

static bool without_thp(void)
{
    return prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0 &&
           prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1;
}

static bool without_noreserve(void)
{
    struct sock_filter filter[] = {
        LOAD_NUMBER,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)MAP_CALL, 0, 3),
        LOAD(ARGUMENT(FLAGS_OF_MMAP)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_NORESERVE, 0, 1),
        RETURN(REFUSAL(EINVAL)),
        RETURN(SECCOMP_RET_ALLOW),
    };
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;

    if (!install(filter, sizeof(filter) / sizeof(filter[0])))
        return false;
    return mmap(NULL, 1, PROT_NONE, flags | MAP_NORESERVE, -1, 0) == MAP_FAILED &&
           errno == EINVAL && mmap(NULL, 1, PROT_NONE, flags, -1, 0) != MAP_FAILED;
}

static const struct feature {
    const char *name;
    bool (*take_away)(void);
} features[] = {
    { "membarrier", without_membarrier },
    { "thp", without_thp },
    { "noreserve", without_noreserve },
};

#define FEATURES (sizeof(features) / sizeof(features[0]))

static int run_without(const struct feature *feature, char **command)
{
    if (!feature->take_away()) {
        fprintf(stderr, "skipped: no way to take %s away: %s\n", feature->name, strerror(errno));
        return EXIT_SKIPPED;
    }
    execvp(command[0], command);
    fprintf(stderr, "without: cannot start %s: %s\n", command[0], strerror(errno));
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc >= 3 && i < FEATURES; i++)
        if (strcmp(argv[1], features[i].name) == 0)
            return run_without(&features[i], argv + 2);
    fprintf(stderr, "usage: without membarrier|thp|noreserve PROGRAM [ARGUMENT...]\n");
    return EXIT_USAGE;
}

#else

int main(void)
{
    fprintf(stderr, "skipped: no filters of system calls here\n");
    return EXIT_SKIPPED;
}

#endif
