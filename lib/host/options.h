/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - the environment variable CPOOL_OPTIONS, by which a user changes pools of a program
 * without recompiling it.  doc/man/cpool_debug.txt has its words.
 */
#ifndef CPI_OPTIONS_H
#define CPI_OPTIONS_H

#include <stddef.h>

#include <cpool.h>

/* The longest text, with what it includes and a zero byte. */
#define CPI_OPTIONS_MAX ((size_t)64 * 1024)

/* All members are constant once cpi_options has returned. */
struct cpi_options {
    const char *text;    /* all words, with those of files, for cpi_options_read */
    unsigned pools;      /* how many of them are for pools */
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
 * Sets what the words of the text say, of the last word if several set one number.
 *
 * pool      NULL: the options of the process, and each wrong word goes to `refused`.  Else the name
 *           of a pool, whose configuration the text changes, whatever the program allows
 *
 * Returns the number of words for pools, or for this pool.  Uses nothing but its arguments.
 */
unsigned cpi_options_read(const char *text, struct cpi_options *process, const char *pool,
                          cpool_config_t *config,
                          void (*refused)(const char *word, size_t length));

/* Gives the memory of the text back, when the library is unloaded. */
void cpi_options_release(void);

#endif /* CPI_OPTIONS_H */
