/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c - see options.h.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cpool.h>

#include "kernels.h"
#include "scheduler.h"
#include "summary.h"

#define DEFAULT_PATH "/usr/include"
#define DEFAULT_REPEAT 3u
#define DEFAULT_TOP 10u

/* Jobs that wait at a time are as many as a directory has entries, or a file
 * pieces.  More than this many run at once in place. */
#define DEFAULT_JOB_NODES ((size_t)65536)

/* A slot that is never used costs nothing, so there may be plenty. */
#define DEFAULT_RESULT_NODES ((size_t)1 << 24)

#define REPEAT_MAX 1000u

static const char usage_text[] =
    "usage: jobs [option]... [DIRECTORY]\n"
    "\n"
    "Counts the lines, words, bytes and identifiers of all files below DIRECTORY\n"
    "(" DEFAULT_PATH ") by jobs that make jobs, on threads that steal them from\n"
    "each other.  Every job and every result node comes from libcpool; the same run\n"
    "is then made with malloc.\n"
    "\n"
    "  --threads N           worker threads; 0, the default: one per processor\n"
    "  --repeat N            measured runs with each allocator (3)\n"
    "  --no-warm-up          measure from the first run on\n"
    "  --top N               identifiers to show, at most 100 (10)\n"
    "  --allocator NAME      cpool, malloc, or both (both)\n"
    "  --kernel NAME         instead of counting: fib, nqueens, quicksort, cholesky,\n"
    "                        message-ring, or all, with a typed pool, a pool by its\n"
    "                        handle, and malloc\n"
    "  --jobs N              nodes in the pool of jobs (65536)\n"
    "  --results N           nodes in the pool of results (16777216)\n"
    "  --check               verify by counting again in the simplest way\n"
    "  --progress            show progress even if this is no terminal\n"
    "  --help                this text\n"
    "\n"
    "Words and lines are those of wc in the C locale.  Exit status: 0 all counted,\n"
    "1 something could not be read, 2 wrong usage or no such directory, 3 no files,\n"
    "4 counts differ or nodes were lost, 5 out of memory, threads or result nodes.\n";

enum option_code { O_THREADS = 256, O_REPEAT, O_TOP, O_ALLOCATOR, O_JOBS, O_RESULTS, O_CHECK,
                   O_PROGRESS, O_HELP, O_KERNEL, O_COLD };

static const struct option long_options[] = {
    {"threads", required_argument, NULL, O_THREADS},
    {"repeat", required_argument, NULL, O_REPEAT},
    {"no-warm-up", no_argument, NULL, O_COLD},
    {"top", required_argument, NULL, O_TOP},
    {"allocator", required_argument, NULL, O_ALLOCATOR},
    {"jobs", required_argument, NULL, O_JOBS},
    {"results", required_argument, NULL, O_RESULTS},
    {"kernel", required_argument, NULL, O_KERNEL},
    {"check", no_argument, NULL, O_CHECK},
    {"progress", no_argument, NULL, O_PROGRESS},
    {"help", no_argument, NULL, O_HELP},
    {NULL, 0, NULL, 0},
};

static unsigned processors(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    if (online < 1)
        return 1;
    return online < (long)SCHEDULER_THREADS_MAX ? (unsigned)online : SCHEDULER_THREADS_MAX;
}

/* Reads a number from `low` to `high`.  It complains and returns false otherwise. */
static bool parse_number(const char *option, const char *text, size_t low, size_t high,
                         size_t *number)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || strchr(text, '-') != NULL || value < low ||
        value > high) {
        fprintf(stderr, "jobs: --%s takes a number from %zu to %zu, not '%s'\n", option, low, high,
                text);
        return false;
    }
    *number = (size_t)value;
    return true;
}

static bool parse_unsigned(const char *option, const char *text, unsigned low, unsigned high,
                           unsigned *number)
{
    size_t value;

    if (!parse_number(option, text, low, high, &value))
        return false;
    *number = (unsigned)value;
    return true;
}

static bool parse_allocator(const char *text, unsigned *allocators)
{
    if (strcmp(text, "cpool") == 0) {
        *allocators = 1u << WITH_CPOOL;
    } else if (strcmp(text, "malloc") == 0) {
        *allocators = 1u << WITH_MALLOC;
    } else if (strcmp(text, "both") == 0) {
        *allocators = 1u << WITH_CPOOL | 1u << WITH_MALLOC;
    } else {
        fprintf(stderr, "jobs: --allocator takes cpool, malloc or both, not '%s'\n", text);
        return false;
    }
    return true;
}

static bool parse_option(struct options *options, int code)
{
    switch (code) {
    case O_THREADS:
        return parse_unsigned("threads", optarg, 0, SCHEDULER_THREADS_MAX, &options->threads);
    case O_REPEAT:
        return parse_unsigned("repeat", optarg, 1, REPEAT_MAX, &options->repeat);
    case O_TOP:
        return parse_unsigned("top", optarg, 0, SUMMARY_TOP_MAX, &options->top);
    case O_ALLOCATOR:
        return parse_allocator(optarg, &options->allocators);
    case O_JOBS:
        return parse_number("jobs", optarg, 1, CPOOL_CAPACITY_MAX, &options->job_nodes);
    case O_RESULTS:
        return parse_number("results", optarg, 1, CPOOL_CAPACITY_MAX, &options->result_nodes);
    case O_KERNEL:
        options->kernel = optarg;
        if (!kernels_know(optarg))
            fprintf(stderr, "jobs: --kernel: there is no %s\n", optarg);
        return kernels_know(optarg);
    case O_COLD:
        options->warm_up = false;
        return true;
    case O_CHECK:
        options->check = true;
        return true;
    case O_PROGRESS:
        options->progress = true;
        return true;
    default: /* getopt_long has said what is wrong */
        fputs("jobs: --help shows the options\n", stderr);
        return false;
    }
}

bool options_parse(struct options *options, int argc, char **argv, enum status *status)
{
    int code;

    *options = (struct options){.path = DEFAULT_PATH,
                                .repeat = DEFAULT_REPEAT,
                                .warm_up = true,
                                .top = DEFAULT_TOP,
                                .allocators = 1u << WITH_CPOOL | 1u << WITH_MALLOC,
                                .job_nodes = DEFAULT_JOB_NODES,
                                .result_nodes = DEFAULT_RESULT_NODES,
                                .progress = isatty(STDERR_FILENO) != 0};
    *status = STATUS_USAGE;
    while ((code = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (code == O_HELP) {
            fputs(usage_text, stdout);
            *status = STATUS_OK;
            return false;
        }
        if (!parse_option(options, code))
            return false;
    }
    if (argc - optind > 1) {
        fputs("jobs: one directory at a time; --help shows the options\n", stderr);
        return false;
    }
    if (optind < argc)
        options->path = argv[optind];
    if (options->threads == 0)
        options->threads = processors();
    return true;
}
