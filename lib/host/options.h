/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - the settings that a user gives to all pools of a program that is not
 * compiled again: the environment variable CPOOL_OPTIONS.
 *
 * The value is a list of words: "checked,fill".  Commas and blanks part them.
 */
#ifndef CPI_OPTIONS_H
#define CPI_OPTIONS_H

#include <stddef.h>

#include <cpool.h>

/* All members are constant once cpi_options has returned. */
struct cpi_options {
    unsigned flags;        /* that every pool gets beside its own */
    unsigned memory_flags; /* likewise */
    unsigned leaks;        /* 1: the live slots of all pools are listed at the end */
    unsigned no_barrier;   /* 1: caches do without the kernel's barrier */
    unsigned goes_on;      /* 1: the default error handler returns */
};

/*
 * The options of this process, read on the first call.  Words that are not understood are named
 * on standard error then.  A program that runs with more rights than its user has no options.
 *
 * Any thread.  The first call may block.
 */
const struct cpi_options *cpi_options(void);

/*
 * Fills in the options that the text asks for, and calls `refused` with each word that
 * is not understood.  Looks at nothing but its arguments.
 */
void cpi_options_parse(struct cpi_options *options, const char *text,
                       void (*refused)(const char *word, size_t length));

#endif /* CPI_OPTIONS_H */
