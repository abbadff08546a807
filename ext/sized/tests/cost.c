/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cost.c - runs a command and prints the seconds that it took and its peak memory in MiB.
 *
 *   cost PRELOADED COMMAND [ARGUMENT...]
 *
 * PRELOADED is the library to preload, or empty.  The command's output is dropped.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void run(const char *preloaded, char **command)
{
    int nowhere = open("/dev/null", O_WRONLY);

    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    if (preloaded[0] != '\0')
        setenv("LD_PRELOAD", preloaded, 1);
    execvp(command[0], command);
    _exit(127);
}

int main(int argc, char **argv)
{
    struct rusage usage;
    double began = now();
    int status;
    pid_t child;

    if (argc < 3)
        return 2;
    child = fork();
    if (child == 0)
        run(argv[1], argv + 2);
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0)
        return 1;
    printf("%.2f %.0f\n", now() - began, (double)usage.ru_maxrss / 1024);
    return 0;
}
