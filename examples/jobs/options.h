/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - the command line of the program.
 */
#ifndef JOBS_OPTIONS_H
#define JOBS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* The meaning of the program's exit status. */
enum status {
    STATUS_OK = 0,         /* everything was counted */
    STATUS_UNREADABLE = 1, /* some files or directories could not be read */
    STATUS_USAGE = 2,      /* wrong option, or the path is no directory */
    STATUS_EMPTY = 3,      /* there is no regular file to count */
    STATUS_WRONG = 4,      /* two counts of the same tree differ, or nodes were lost */
    STATUS_MEMORY = 5      /* out of memory, threads or result nodes */
};

/* The allocators in turn, and a bit for each in options.allocators. */
enum allocator_kind { WITH_CPOOL, WITH_MALLOC, ALLOCATOR_KINDS };

struct options {
    const char *path;
    const char *kernel;  /* NULL: counts the files below the path */
    unsigned threads;    /* workers; never 0 */
    unsigned repeat;     /* measured runs with each allocator */
    bool warm_up;        /* and one before them that is not measured */
    unsigned top;        /* identifiers to print */
    unsigned allocators; /* set of 1 << enum allocator_kind */
    size_t job_nodes;    /* capacity of the pool of jobs */
    size_t result_nodes; /* capacity of the pool of results */
    bool check;          /* verify by a recount */
    bool progress;       /* show progress on standard error */
};

/*
 * Reads the command line.  Returns true when the program is to go on.
 * Otherwise everything has been said, and *status is the exit status.
 */
bool options_parse(struct options *options, int argc, char **argv, enum status *status);

#endif /* JOBS_OPTIONS_H */
