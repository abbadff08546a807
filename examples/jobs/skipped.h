/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * skipped.h - what a walk through a tree left out, counted by kind, and the
 * first few that a person should know of by name.
 *
 * Any thread may add.  A mutex orders them, as adding is rare.
 */
#ifndef JOBS_SKIPPED_H
#define JOBS_SKIPPED_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum skip_kind {
    SKIP_LINK,      /* symbolic link: not followed */
    SKIP_LOOP,      /* symbolic link that leads back to where it lies: named */
    SKIP_SPECIAL,   /* device, pipe, socket */
    SKIP_FILE,      /* file that cannot be read: named */
    SKIP_DIRECTORY, /* directory that cannot be read: named */
    SKIP_KINDS
};

/* How many are named, and bytes kept of each. */
#define SKIPPED_NAMES 5
#define SKIPPED_TEXT 512

struct skipped {
    pthread_mutex_t mutex;
    uint64_t count[SKIP_KINDS];
    unsigned names; /* entries of name in use */
    char name[SKIPPED_NAMES][SKIPPED_TEXT];
};

void skipped_init(struct skipped *skipped);
void skipped_fini(struct skipped *skipped);

/* Adds one of a kind that is not named. */
void skipped_add(struct skipped *skipped, enum skip_kind kind);

/* Adds one of a kind that is named.  error is the errno value with the reason. */
void skipped_add_named(struct skipped *skipped, enum skip_kind kind, const char *path, int error);

/* How many files and directories could not be read. */
uint64_t skipped_unreadable(const struct skipped *skipped);

/* Prints the entries that were left out, with the reasons, if there are any. */
void skipped_print(const struct skipped *skipped, FILE *out);

#endif /* JOBS_SKIPPED_H */
