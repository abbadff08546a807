/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * misuse.h - every public function, with a handle that leads to no pool of this copy
 * of the library.
 */
#ifndef CPOOL_TESTS_MISUSE_H
#define CPOOL_TESTS_MISUSE_H

#include <cpool.h>

struct misuse {
    cpool_t *pool;
    void *slot;           /* its slot, or a former one */
    cpool_cache_t *cache; /* a cache of it, for misuse_cache */
};

/*
 * Call one function after the other.  Each returns NULL if every one of them reported
 * CPOOL_EPOOL, once, and returned what its contract says, or else the name of the first
 * that did not.  They replace the error handler.
 *
 * takes         those that take or give slots, or change how many there are; any handle
 * out_of_line   these, and those that ask; any pointer may be the handle
 * cache         the cache may be read, but leads to a handle that leads to no pool
 * inline        the handle is that of a pool of this copy that has been destroyed
 */
const char *misuse_takes(struct misuse *misuse);
const char *misuse_out_of_line(struct misuse *misuse);
const char *misuse_cache(struct misuse *misuse);
const char *misuse_inline(struct misuse *misuse);

#endif /* CPOOL_TESTS_MISUSE_H */
