/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - the environment variable CPOOL_OPTIONS, by which a user changes all pools of a
 * program without recompiling it.
 *
 * The value is a list of words, separated by commas and blanks: "checked,leaks".
 */
#ifndef CPI_OPTIONS_H
#define CPI_OPTIONS_H

#include <stddef.h>

#include <cpool.h>

/* All members are constant once cpi_options has returned. */
struct cpi_options {
    unsigned flags;      /* added to the flags of every pool */
    unsigned leaks;      /* 1: list the live slots of all pools at exit */
    unsigned no_barrier; /* 1: caches do without the kernel's barrier */
    unsigned goes_on;    /* 1: the default error handler returns */
};

/*
 * The options of this process, read on the first call, which names unknown words on standard error.
 * A program with more rights than its user has no options.
 *
 * Any thread.  The first call may block.
 */
const struct cpi_options *cpi_options(void);

/*
 * Fills in the options that the text sets, and calls `refused` with each unknown word.  Uses
 * nothing but its arguments.
 */
void cpi_options_parse(struct cpi_options *options, const char *text,
                       void (*refused)(const char *word, size_t length));

#endif /* CPI_OPTIONS_H */
