/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fixture.h - what the tests of caches share: a slab and a depot, without a pool.
 *
 * Includes support.h and cache.h.
 */
#ifndef CPOOL_TESTS_FIXTURE_H
#define CPOOL_TESTS_FIXTURE_H

#include "support.h" /* first: it says which system interfaces are wanted */

#include "cache/cache.h"

/* Slots, rounds of a magazine, and places for spares in a cache. */
enum { FIXTURE_CAPACITY = 1000, FIXTURE_LIMIT = 10, FIXTURE_PLACES = 8 };

extern struct cpi_slab *fixture_slab;
extern struct cpi_depot *fixture_depot;

/* Makes both. */
void fixture_init(void);

/* A cache that uses its whole quota of spares. */
struct cpi_cache *fixture_cache(uint32_t quota, bool inline_path);

/* Free slots in the depot. */
size_t fixture_in_depot(void);

/* Takes n slots, all there.  Gives n back. */
void fixture_take(struct cpi_cache *cache, void **slots, size_t n);
void fixture_give(struct cpi_cache *cache, void **slots, size_t n);

/* Magazines that the cache has exchanged with the depot. */
uint64_t fixture_exchanges(const struct cpi_cache *cache);

#endif /* CPOOL_TESTS_FIXTURE_H */
